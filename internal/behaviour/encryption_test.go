package behaviour_test

// Tests of encryption: what a database holds shows nothing, whoever lacks a key does no harm, and keys can be rotated.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/crypttest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestTheFileHoldsNoSecret: whatever a run keeps, no byte of the files of its database shows it. Without encryption each kind does: the test can see.
func TestTheFileHoldsNoSecret(t *testing.T) {
	for name, ring := range map[string]*keyring.Ring{"encrypted": keysOf(t, "k1"), "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w, err := sqlite.Open(filepath.Join(dir, "runs.db"))
			if err != nil {
				t.Fatal(err)
			}
			crypttest.Run(t, w, ring)
			found := 0
			look := func() {
				err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					b, err := os.ReadFile(filepath.Join(dir, path))
					for _, form := range []string{crypttest.Secret, base64.StdEncoding.EncodeToString([]byte(crypttest.Secret))[:20], hex.EncodeToString([]byte(crypttest.Secret))} {
						found += bytes.Count(b, []byte(form))
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			look() // the write-ahead log too
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			look()
			if ring != nil && found != 0 {
				t.Errorf("the secret is there %d times, want none", found)
			}
			if ring == nil && found < 20 {
				t.Errorf("the secret is there %d times without encryption, want each kind of payload", found)
			}
		})
	}
}

// confides is a workflow that waits for an event and tells what it was sent.
var (
	confided = stepwell.Event[string]("told")
	confides = stepwell.Define("confides", func(ctx stepwell.Context, in string) (string, error) {
		if _, err := stepwell.Step(ctx, "note", func(context.Context) (string, error) { return in, nil }); err != nil {
			return "", err
		}
		got, _, err := confided.Wait(ctx)
		return in + " " + got, err
	})
)

// withKeys is an App that works, or a client, with a keyring.
func (r *rig) withKeys(ring *keyring.Ring) *worker {
	r.Helper()
	return r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{confides}, Encryption: ring})
}

func keys(t testing.TB, ids ...string) map[string]keyring.Key {
	t.Helper()
	all := map[string]keyring.Key{}
	for _, id := range ids {
		k, err := keyring.NewKey(id)
		if err != nil {
			t.Fatal(err)
		}
		all[id] = k
	}
	return all
}

func ringOf(t testing.TB, first keyring.Key, others ...keyring.Key) *keyring.Ring {
	t.Helper()
	r, err := keyring.New(first, others...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRotation: runs keep the key that they began with; a worker without it blocks them, and says which key is missing; they go on where it is there.
func TestRotation(t *testing.T) {
	everywhere(t, func(r *rig) {
		k := keys(r, "old", "new")
		wk := r.withKeys(ringOf(r, k["old"]))
		first := start(r, wk, confides, "a")
		synctest.Wait()
		wk.stop(r.T)

		wk = r.withKeys(ringOf(r, k["new"], k["old"])) // rotated
		second := start(r, wk, confides, "b")
		third := start(r, wk, confides, "c")
		if err := confided.Send(r.ctx, wk.App, third.ID(), "x"); err != nil {
			r.Fatal(err)
		}
		want(r, third, "c x")
		for run, key := range map[string]string{first.ID(): "old", second.ID(): "new", third.ID(): "new"} {
			if row := r.row(wk.App, run); row.Encryption != key || row.Sealed {
				r.Errorf("run %s: got key %q, sealed %v; want %q, and to be read", run, row.Encryption, row.Sealed, key)
			}
		}
		both := wk.App
		for run := range map[string]bool{first.ID(): true, second.ID(): true} {
			if err := confided.Send(r.ctx, both, run, "y"); err != nil {
				r.Fatal(err)
			}
		}
		want(r, first, "a y")
		want(r, second, "b y")
		wk.stop(r.T)

		fourth := startWith(r, ringOf(r, k["old"]), "d")
		early := r.withKeys(ringOf(r, k["new"])) // too early: the old key was dropped
		b := r.blockedIn(early.App, fourth)
		if b.Code != world.CodeNoKey || !strings.Contains(b.Message, `"old"`) {
			r.Fatalf("got block %+v, want NO_KEY and the key's ID", b)
		}
		if text := r.why(early.App, fourth); !strings.Contains(text, `"old"`) {
			r.Errorf("why = %q, want the key's ID", text)
		}
		early.stop(r.T)
		wk = r.withKeys(ringOf(r, k["new"], k["old"]))
		if err := confided.Send(r.ctx, wk.App, fourth, "z"); err != nil {
			r.Fatal(err)
		}
		want(r, confides.Get(wk.App, fourth), "d z")
	})
}

func startWith(r *rig, ring *keyring.Ring, in string) string {
	r.Helper()
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{confides}, Encryption: ring})
	if err != nil {
		r.Fatal(err)
	}
	run, err := confides.Start(r.ctx, app, in)
	if err != nil {
		r.Fatal(err)
	}
	return run.ID()
}

func (r *rig) row(app *stepwell.App, run string) stepwell.RunInfo {
	r.Helper()
	row, err := app.Get(r.ctx, run)
	if err != nil {
		r.Fatal(err)
	}
	return row
}

func (r *rig) blockedIn(app *stepwell.App, run string) (b *world.Block) {
	r.Helper()
	until(r, "the run to be blocked", func() bool {
		if q := r.row(app, run).Queue; q != nil {
			b = q.Blocked
		}
		return b != nil
	})
	return b
}

func (r *rig) why(app *stepwell.App, run string) string {
	r.Helper()
	w, err := app.Why(r.ctx, run)
	if err != nil {
		r.Fatal(err)
	}
	return w.String()
}

// TestWithoutTheKeyNothingIsDone: an App without a run's key reads no payload of it, and writes none; nothing is lost by its trying.
func TestWithoutTheKeyNothingIsDone(t *testing.T) {
	onWorlds(t, func(r *rig) {
		k := keys(r, "k1", "k2")
		wk := r.withKeys(ringOf(r, k["k1"]))
		hooked := stepwell.Define("hooked", func(ctx stepwell.Context, _ string) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token("door"))
			if err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		wk.stop(r.T)
		wk = r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{confides, hooked}, Encryption: ringOf(r, k["k1"])})
		run, door := start(r, wk, confides, "in"), start(r, wk, hooked, "in")
		synctest.Wait()
		before := len(eventsOf(r, r.world, run.ID())) + len(eventsOf(r, r.world, door.ID()))
		for name, ring := range map[string]*keyring.Ring{"without keys": nil, "with another key": ringOf(r, k["k2"])} {
			app, err := stepwell.New(r.world, stepwell.Config{Encryption: ring})
			if err != nil {
				r.Fatal(err)
			}
			_, resulted := confides.Get(app, run.ID()).Result(withDeadline(r))
			_, forked := app.Fork(r.ctx, run.ID(), stepwell.ForkOptions{})
			_, restarted := app.Restart(r.ctx, run.ID(), stepwell.RestartOptions{})
			for what, err := range map[string]error{
				"signal": app.Signal(r.ctx, run.ID(), "told", json.RawMessage(`"x"`)),
				"hook":   app.SendHook(r.ctx, "door", json.RawMessage(`"x"`)),
				"fork":   forked, "restart": restarted,
			} {
				if !errors.Is(err, stepwell.ErrNoKey) || !strings.Contains(err.Error(), `"k1"`) {
					r.Errorf("%s, %s: got %v, want ErrNoKey and the key's ID", name, what, err)
				}
			}
			if !errors.Is(resulted, context.DeadlineExceeded) { // it is not over
				r.Errorf("%s, result: got %v", name, resulted)
			}
			if row := r.row(app, run.ID()); !row.Sealed || row.Encryption != "k1" || strings.Contains(string(row.Input), "in\"") && len(row.Input) < 8 {
				r.Errorf("%s: got %+v, want it sealed", name, row)
			}
			if err := app.Pause(r.ctx, run.ID(), "no payload"); err != nil {
				r.Errorf("%s: pause: %v", name, err)
			}
			if err := app.Resume(r.ctx, run.ID()); err != nil {
				r.Errorf("%s: resume: %v", name, err)
			}
		}
		until(r, "the acts", func() bool {
			return len(eventsOf(r, r.world, run.ID())) == before-len(eventsOf(r, r.world, door.ID()))+4
		})
		if err := confided.Send(r.ctx, wk.App, run.ID(), "out"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "in out")
		if err := wk.SendHook(r.ctx, "door", json.RawMessage(`"open"`)); err != nil {
			r.Fatal(err)
		}
		want(r, door, "open")
		plain, err := stepwell.New(r.world, stepwell.Config{})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := confides.Get(plain, run.ID()).Result(r.ctx); !errors.Is(err, stepwell.ErrNoKey) {
			r.Errorf("result without keys: got %v, want ErrNoKey", err)
		}
	})
}

func withDeadline(r *rig) context.Context {
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	r.Cleanup(cancel)
	return ctx
}

// TestForksGetTheNewKey: forks, retries, restarts and children are encrypted with the key of new runs, whatever their origin was.
func TestForksGetTheNewKey(t *testing.T) {
	r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
	k := keys(t, "old", "new")
	flaky := stepwell.Define("flaky", func(ctx stepwell.Context, in string) (string, error) {
		if _, err := stepwell.Step(ctx, "one", func(context.Context) (string, error) { return in, nil }); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "two", func(context.Context) (string, error) { return "", stepwell.Fatal(errors.New("no " + in)) })
	})
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: r.mode}
		cfg := stepwell.Config{Definitions: []stepwell.Definition{flaky}, Encryption: ringOf(t, k["old"])}
		wk := r.beginWith(cfg)
		run := start(r, wk, flaky, "in")
		wantErr(r, run, world.Failed)
		wk.stop(t)
		cfg.Encryption = ringOf(t, k["new"], k["old"])
		wk = r.beginWith(cfg)
		made := map[string]string{}
		for what, do := range map[string]func() (*stepwell.Run[json.RawMessage], error){
			"fork": func() (*stepwell.Run[json.RawMessage], error) {
				return wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: 5})
			},
			"retry": func() (*stepwell.Run[json.RawMessage], error) { return wk.Retry(r.ctx, run.ID()) },
			"restart": func() (*stepwell.Run[json.RawMessage], error) {
				return wk.Restart(r.ctx, run.ID(), stepwell.RestartOptions{})
			},
		} {
			got, err := do()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			made[what] = got.ID()
		}
		wk.stop(t)
		cfg.Encryption = ringOf(t, k["new"]) // the old key is not needed for them
		wk = r.beginWith(cfg)
		for what, id := range made {
			err := wantErr(r, flaky.Get(wk.App, id), world.Failed)
			if row := r.row(wk.App, id); row.Encryption != "new" || row.Sealed || !strings.Contains(err.Error(), "no in") {
				t.Errorf("%s: got key %q, sealed %v, %v; want the new key", what, row.Encryption, row.Sealed, err)
			}
		}
	})
}

// TestFilterByInputOfEncryptedRuns is refused, and attributes can be asked for.
func TestFilterByInputOfEncryptedRuns(t *testing.T) {
	onWorlds(t, func(r *rig) {
		app, err := stepwell.New(r.world, stepwell.Config{Encryption: keysOf(r, "k1")})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := app.Start(r.ctx, "orders", json.RawMessage(`{"a":1}`), stepwell.Attributes(map[string]any{"tier": "gold"})); err != nil {
			r.Fatal(err)
		}
		list := func(f stepwell.ListFilter) (n int, err error) {
			for _, e := range app.List(r.ctx, f) {
				if n, err = n+1, errors.Join(err, e); e != nil {
					return 0, err
				}
			}
			return n, err
		}
		if _, err := list(stepwell.ListFilter{Input: stepwell.Match{"a": 1}}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "attributes") {
			r.Errorf("by input: got %v, want it refused, and attributes named", err)
		}
		if n, err := list(stepwell.ListFilter{Attributes: stepwell.Match{"tier": "gold"}}); n != 1 || err != nil {
			r.Errorf("by attribute: got %d runs, %v; want 1", n, err)
		}
	})
}

// TestAPlainRunStaysPlain: with keys, runs that began without any are worked on as they are, whatever their payloads look like.
func TestAPlainRunStaysPlain(t *testing.T) {
	onWorlds(t, func(r *rig) {
		run := startPlain(r)
		wk := r.withKeys(keysOf(r, "k1"))
		const forged = `sealed:AQAAAAJrMQBBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB`
		if err := confided.Send(r.ctx, wk.App, run, forged); err != nil {
			r.Fatal(err)
		}
		want(r, confides.Get(wk.App, run), forged+" "+forged)
		if row := r.row(wk.App, run); row.Encryption != "" {
			r.Errorf("got key %q, want none", row.Encryption)
		}
	})
}

func startPlain(r *rig) string {
	r.Helper()
	run, err := r.client(confides).Start(r.ctx, "confides", json.RawMessage(`"sealed:AQAAAAJrMQBBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB"`))
	if err != nil {
		r.Fatal(err)
	}
	return run.ID()
}

// TestStreamsWithoutTheKey are refused, and not shown as text.
func TestStreamsWithoutTheKey(t *testing.T) {
	onWorlds(t, func(r *rig) {
		says := stepwell.Define("says", func(ctx stepwell.Context, in string) (int, error) { return 0, stepwell.WriteStream(ctx, "words", in) })
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{says}, Encryption: keysOf(r, "k1")})
		run := start(r, wk, says, "hush")
		want(r, run, 0)
		for name, ring := range map[string]*keyring.Ring{"without keys": nil, "with another key": keysOf(r, "k2")} {
			app, err := stepwell.New(r.world, stepwell.Config{Encryption: ring})
			if err != nil {
				r.Fatal(err)
			}
			n := 0
			for _, err := range app.ReadStream(r.ctx, run.ID(), "words", 0) {
				if n++; !errors.Is(err, stepwell.ErrNoKey) {
					r.Errorf("%s: got %v, want ErrNoKey", name, err)
				}
			}
			if n != 1 {
				r.Errorf("%s: got %d chunks, want the error alone", name, n)
			}
		}
	})
}

// BenchmarkEncryption is a run of ten steps with payloads of 1 KiB, in memory, with and without: what is left is what encryption costs.
func BenchmarkEncryption(b *testing.B) {
	text := strings.Repeat("x", 1<<10)
	ten := stepwell.Define("ten", func(ctx stepwell.Context, in string) (string, error) {
		for range 10 {
			if _, err := stepwell.Step(ctx, "s", func(context.Context) (string, error) { return in, nil }); err != nil {
				return "", err
			}
		}
		return in, nil
	})
	for name, ring := range map[string]*keyring.Ring{"plain": nil, "encrypted": keysOf(b, "k1")} {
		b.Run(name, func(b *testing.B) {
			w := memory.New()
			app := work(b, w, stepwell.Config{Definitions: []stepwell.Definition{ten}, Encryption: ring})
			for b.Loop() {
				run, err := ten.Start(b.Context(), app, text)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := run.Result(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestContinueKeepsTheKey: a run keeps its key over its segments, whatever key new runs have by then.
func TestContinueKeepsTheKey(t *testing.T) {
	onWorlds(t, func(r *rig) {
		k := keys(r, "old", "new")
		again := stepwell.Define("again", func(ctx stepwell.Context, in string) (string, error) {
			got, _, err := confided.Wait(ctx)
			if err != nil || in != "" {
				return in + " " + got, err
			}
			return "", stepwell.ContinueAsNew(ctx, got)
		})
		cfg := stepwell.Config{Definitions: []stepwell.Definition{again}, Encryption: ringOf(r, k["old"])}
		wk := r.beginWith(cfg)
		id := start(r, wk, again, "").ID()
		wk.stop(r.T)
		cfg.Encryption = ringOf(r, k["new"], k["old"])
		wk = r.beginWith(cfg)
		for _, s := range []string{"a", "b"} {
			if err := confided.Send(r.ctx, wk.App, id, s); err != nil {
				r.Fatal(err)
			}
		}
		want(r, again.Get(wk.App, id), "a b")
		next := r.events(id, world.RunContinued)
		if len(next) != 1 || next[0].Encrypted != "old" {
			r.Errorf("got continuations %+v, want one that is encrypted with the key old", next)
		}
		if row := r.row(wk.App, id); row.Encryption != "old" {
			r.Errorf("got key %q, want old", row.Encryption)
		}
	})
}
