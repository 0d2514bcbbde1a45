package behaviour_test

// Tests of keys that are not there, or not the ones that they are said to be.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// confidesMore has streams and a hook too.
var confidesMore = stepwell.Define("confides-more", func(ctx stepwell.Context, in string) (string, error) {
	if _, err := stepwell.NewHook[int](ctx, stepwell.Metadata(in)); err != nil {
		return "", err
	}
	if err := stepwell.WriteStream(ctx, "open", in); err != nil {
		return "", err
	}
	if _, err := stepwell.Step(ctx, "write", func(ctx context.Context) (int, error) {
		return 0, stepwell.Stream[string](ctx, "closed").CloseWithError(errors.New(in))
	}); err != nil {
		return "", err
	}
	got, _, err := confided.Wait(ctx)
	return in + " " + got, err
})

// TestAWrongKeyIsRefusedWhereItEnters: another key under an ID that the database knows starts nothing, sends nothing and works on nothing; who has the right one goes on.
func TestAWrongKeyIsRefusedWhereItEnters(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{confidesMore}, Encryption: ringOf(r, keys(r, "k1")["k1"])})
		run := start(r, wk, confidesMore, "in")
		synctest.Wait()
		before := len(eventsOf(r, r.world, run.ID()))
		wrong, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{confides}, Encryption: ringOf(r, keys(r, "k1")["k1"])})
		if err != nil {
			r.Fatal(err)
		}
		_, started := confides.Start(r.ctx, wrong, "x")
		_, got := wrong.Get(r.ctx, run.ID())
		_, why := wrong.Why(r.ctx, run.ID())
		_, hooks := wrong.Hooks(r.ctx, run.ID(), "")
		chunks := map[string]error{}
		for _, stream := range []string{"open", "closed"} {
			for _, err := range wrong.ReadStream(r.ctx, run.ID(), stream, 0) {
				chunks[stream] = err
				break
			}
		}
		_, forked := wrong.Fork(r.ctx, run.ID(), stepwell.ForkOptions{})
		for what, err := range map[string]error{
			"start": started, "signal": confided.Send(r.ctx, wrong, run.ID(), "x"), "work": wrong.Run(r.ctx),
			"hooks": hooks, "a chunk": chunks["open"], "how a stream ended": chunks["closed"], "get": got, "why": why, "fork": forked,
		} {
			if !errors.Is(err, stepwell.ErrWrongKey) || !strings.Contains(err.Error(), `"k1"`) {
				r.Errorf("%s: got %v, want ErrWrongKey and the key's ID", what, err)
			}
		}
		if n := len(eventsOf(r, r.world, run.ID())); n != before {
			r.Errorf("the log has %d events, want %d: nothing was written", n, before)
		}
		if err := confided.Send(r.ctx, wk.App, run.ID(), "out"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "in out")
	})
}

// withoutBook is a world of a release that did not remember keys.
type withoutBook struct{ world.World }

func (withoutBook) BindKey(context.Context, string, []byte) ([]byte, error) { return nil, nil }

// TestAWrongKeyIsRefusedForRunsOfBefore: an ID that nothing is bound to is bound to no other key than that of the runs that are there.
func TestAWrongKeyIsRefusedForRunsOfBefore(t *testing.T) {
	onWorlds(t, func(r *rig) {
		right := ringOf(r, keys(r, "k1")["k1"])
		start := func(w world.World, ring *keyring.Ring) error {
			app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
			if err != nil {
				r.Fatal(err)
			}
			_, err = app.Start(r.ctx, "orders", []byte(`1`))
			return err
		}
		if err := start(withoutBook{r.world}, right); err != nil {
			r.Fatal(err)
		}
		if err := start(r.world, ringOf(r, keys(r, "k1")["k1"])); !errors.Is(err, stepwell.ErrWrongKey) {
			r.Errorf("another key: got %v, want ErrWrongKey", err)
		}
		if err := start(r.world, right); err != nil {
			r.Errorf("the key of the run: got %v", err)
		}
	})
}

// blocks counts, by run, how often a worker said that one is blocked.
type blocks struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *blocks) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// Mail that comes while a blocked run is given back makes the worker say it once more, for the same try.
func (b *blocks) of(run string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	tries := map[string]bool{}
	for line := range strings.Lines(b.text.String()) {
		if _, rest, is := strings.Cut(line, " tries="); is && strings.Contains(line, "run is blocked") && strings.Contains(line, run) {
			try, _, _ := strings.Cut(rest, " ")
			tries[try] = true
		}
	}
	return len(tries)
}

// TestARunGoesToTheWorkerWithItsKey: a worker that lacks a run's key is given it once at most, while others that have registered the workflow live.
func TestARunGoesToTheWorkerWithItsKey(t *testing.T) {
	everywhere(t, func(r *rig) {
		ring := keysOf(r, "k1")
		var log blocks
		r.beginWith(stepwell.Config{
			Definitions: []stepwell.Definition{confides}, Encryption: keysOf(r, "k2"), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		client, err := stepwell.New(r.world, stepwell.Config{Encryption: ring})
		if err != nil {
			r.Fatal(err)
		}
		r.withKeys(ring)
		const runs = 12
		for i := range runs {
			if _, err := client.Start(r.ctx, "confides", []byte(`"in"`), stepwell.RunID(fmt.Sprint("secret-", i, "."))); err != nil {
				r.Fatal(err)
			}
			if err := confided.Send(r.ctx, client, fmt.Sprint("secret-", i, "."), "out"); err != nil {
				r.Fatal(err)
			}
		}
		for i := range runs {
			run := fmt.Sprint("secret-", i, ".")
			want(r, confides.Get(client, run), "in out")
			if n := log.of(run); n > 1 {
				r.Errorf("run %s was given %d times to a worker without its key, want once at most", run, n)
			}
		}
	})
}
