package starts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

func quiet(t *testing.T, w world.World, definitions ...stepwell.Definition) *stepwell.App {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: definitions})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestNoInputLostOrTwice: whatever many starters do at once, with and without keys, again and again, each input is in
// one run, once, though runs begin all the time; and so it is in their replays and forks.
func TestNoInputLostOrTwice(t *testing.T) {
	stores := map[string]func(t *testing.T) world.World{
		"memory": func(*testing.T) world.World { return memory.New() },
		"sqlite": func(t *testing.T) world.World {
			w, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
			if err != nil {
				t.Fatal(err)
			}
			return w
		},
		"postgres": func(t *testing.T) world.World {
			w, err := postgres.Open(t.Context(), pgtest.URL(t))
			if err != nil {
				t.Fatal(err)
			}
			return w
		},
	}
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := stores[name](t)
			gather := stepwell.Define("gather", func(_ stepwell.Context, all []string) ([]string, error) { return all, nil },
				stepwell.Batch{Key: stepwell.KeyOf(func(s string) string { return s[:1] }), Size: 7, Wait: 100 * time.Millisecond})
			app := quiet(t, w, gather)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- app.Run(ctx) }()
			t.Cleanup(func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				_ = w.Close()
			})
			const starters, each = 6, 15
			var mu sync.Mutex
			of := make(map[string]string) // input to run, guarded by mu
			var wg sync.WaitGroup
			for s := range starters {
				wg.Go(func() {
					for i := range each {
						item := fmt.Sprintf("%c%d.%d", 'a'+i%2, s, i)
						var opts []stepwell.StartOption
						tries := 1
						if i%3 > 0 {
							opts, tries = append(opts, stepwell.Key(item)), 1+i%3
						}
						for range tries {
							run, err := gather.Start(ctx, app, []string{item}, opts...)
							if err != nil {
								t.Errorf("start %s: %v", item, err)
								return
							}
							mu.Lock()
							if was := of[item]; was != "" && was != run.ID() {
								t.Errorf("start %s again: run %s, before it was %s", item, run.ID(), was)
							}
							of[item] = run.ID()
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			var got, want []string
			seen := make(map[string]bool)
			for item, id := range of {
				want = append(want, item)
				if seen[id] {
					continue
				}
				seen[id] = true
				all, err := gather.Get(app, id).Result(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range all {
					if of[item] != id {
						t.Errorf("%s is in run %s, and its start was told %s", item, id, of[item])
					}
				}
				got = append(got, all...)
				if len(all) > 7 {
					t.Errorf("run %s has %d inputs", id, len(all))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inputs (-given +run):\n%s", diff)
			}
			if len(seen) == len(want) {
				t.Errorf("%d inputs made %d runs", len(want), len(seen))
			}
			for id := range seen {
				var a, b []string
				whole, err := app.Get(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				fork, err := app.Fork(ctx, id, stepwell.ForkOptions{})
				if err == nil {
					var out json.RawMessage
					if out, err = fork.Result(ctx); err == nil {
						err = errors.Join(json.Unmarshal(out, &a), json.Unmarshal(whole.Input, &b))
					}
				}
				if err != nil || !slices.Equal(a, b) {
					t.Errorf("run %s has %v, its fork %v: %v", id, b, a, err)
				}
				break
			}
		})
	}
}

// TestGatherActs: what operators do to a run that gathers.
func TestGatherActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		app := quiet(t, memory.New(), bulk, index)
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		add := func(text string, opts ...stepwell.StartOption) *stepwell.Run[string] {
			t.Helper()
			run, err := bulk.Start(ctx, app, []doc{doc{"a", text}}, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
		result := func(run *stepwell.Run[string]) string {
			t.Helper()
			out, err := run.Result(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		first := add("1")
		if second := add("2"); !second.Merged() || !second.Existed() || second.ID() != first.ID() || first.Merged() {
			t.Errorf("the second: run %s, merged %t", second.ID(), second.Merged())
		}
		why, err := app.Why(ctx, first.ID())
		if err != nil || why.Kind != stepwell.WhyGathers || why.Gathers != 2 || !strings.Contains(why.String(), "2 so far") {
			t.Errorf("got %v, %v", why, err)
		}
		if info, err := app.Get(ctx, first.ID()); err != nil || string(info.Input) != `[{"id":"a","text":"1"},{"id":"a","text":"2"}]` {
			t.Errorf("got %s, %v", info.Input, err)
		}
		// A wake of its start has it begin.
		if _, err := app.Wake(ctx, first.ID(), stepwell.WakeStarts); err != nil {
			t.Fatal(err)
		}
		if got := result(first); got != "1 2" {
			t.Errorf("woken: got %q", got)
		}
		// A cancel ends it with all that it has, and what comes then is another's.
		first = add("3")
		if err := app.Cancel(ctx, first.ID(), "no"); err != nil {
			t.Fatal(err)
		}
		next := add("4")
		if next.ID() == first.ID() {
			t.Error("an input went to a run that is to be cancelled")
		}
		if _, err := first.Result(ctx); !errors.Is(err, stepwell.ErrCancelled) {
			t.Errorf("cancelled: got %v", err)
		}
		// Paused it gathers, and does not begin.
		if err := app.Pause(ctx, next.ID(), ""); err != nil {
			t.Fatal(err)
		}
		if run := add("5"); run.ID() != next.ID() {
			t.Error("a paused run gathers no more")
		}
		time.Sleep(time.Hour)
		if err := app.Resume(ctx, next.ID()); err != nil {
			t.Fatal(err)
		}
		if got := result(next); got != "4 5" {
			t.Errorf("paused and resumed: got %q", got)
		}
		// A restart, and a restart in place, have all that came; so has one with another input that alone.
		again, err := app.Restart(ctx, next.ID(), stepwell.RestartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := again.Result(ctx); err != nil || string(out) != `"4 5"` {
			t.Errorf("restarted: got %s, %v", out, err)
		}
		forked, err := app.Fork(ctx, next.ID(), stepwell.ForkOptions{At: 1, Input: json.RawMessage(`[{"id":"a","text":"mine"}]`)})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := forked.Result(ctx); err != nil || string(out) != `"mine"` {
			t.Errorf("forked with another input: got %s, %v", out, err)
		}
		// A held workflow gathers, and begins when it is released.
		if err := app.Hold(ctx, "bulk", ""); err != nil {
			t.Fatal(err)
		}
		held := add("6")
		if run := add("7"); run.ID() != held.ID() {
			t.Error("a held workflow gathers nothing")
		}
		time.Sleep(time.Hour)
		if run := add("8"); run.ID() == held.ID() {
			t.Error("behind its time it takes no more")
		}
		if err := app.Release(ctx, "bulk"); err != nil {
			t.Fatal(err)
		}
		if got := result(held); got != "6 7" {
			t.Errorf("held: got %q", got)
		}
		// An idempotency key of a merged start is known for as long as the run is kept.
		time.Sleep(time.Hour)
		add("9")
		keyed := add("10", stepwell.Key("k"))
		time.Sleep(time.Hour)
		if again := add("10", stepwell.Key("k")); again.ID() != keyed.ID() || !again.Existed() {
			t.Errorf("the same start again: run %s, want %s", again.ID(), keyed.ID())
		}
		if got := result(keyed); got != "9 10" {
			t.Errorf("got %q", got)
		}
		// What is as large as a batch may be closes it.
		large := strings.Repeat("x", 700<<10)
		if one, two := add(large), add(large); one.ID() == two.ID() {
			t.Error("two inputs of 700 KiB are in one batch")
		} else if got := result(one); len(got) != len(large) {
			t.Errorf("the first has %d bytes", len(got))
		}
		// Several at once.
		whole, err := bulk.Start(ctx, app, []doc{{"b", "1"}, {"b", "2"}, {"b", "3"}})
		if err != nil || result(whole) != "1 2 3" {
			t.Errorf("got %v", err)
		}
		// By its name, an item is a list of one.
		named, err := app.Start(ctx, "bulk", json.RawMessage(`{"id":"c","text":"1"}`))
		if err != nil {
			t.Fatal(err)
		}
		if more, err := app.Start(ctx, "bulk", json.RawMessage(`[{"id":"c","text":"2"}]`)); err != nil || more.ID() != named.ID() {
			t.Errorf("got %v, %v", more, err)
		}
		if out, err := named.Result(ctx); err != nil || string(out) != `"1 2"` {
			t.Errorf("got %s, %v", out, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestGatherRefused: what is not merged is refused, at the definition or at the start.
func TestGatherRefused(t *testing.T) {
	parent := stepwell.Define("parent", func(ctx stepwell.Context, d doc) (string, error) { return index.Child().Run(ctx, d) })
	app := quiet(t, memory.New(), index, bulk, parent)
	one := []doc{{"a", "1"}}
	for name, start := range map[string]func() error{
		"an ID":   func() error { _, err := index.Start(t.Context(), app, doc{}, stepwell.RunID("mine")); return err },
		"a delay": func() error { _, err := index.Start(t.Context(), app, doc{}, stepwell.Delay(time.Hour)); return err },
		"nothing": func() error { _, err := bulk.Start(t.Context(), app, nil); return err },
		"too many": func() error {
			_, err := bulk.Start(t.Context(), app, slices.Concat(one, one, one, one))
			return err
		},
		"different keys": func() error { _, err := bulk.Start(t.Context(), app, []doc{{"a", "1"}, {"b", "1"}}); return err },
	} {
		if err := start(); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	key := stepwell.KeyOf(func(d doc) string { return d.ID })
	for name, option := range map[string]stepwell.WorkflowOption{
		"no quiet time":     stepwell.Debounce{Key: key},
		"a short longest":   stepwell.Debounce{Key: key, Quiet: time.Minute, Longest: time.Second},
		"no list":           stepwell.Batch{Key: key, Size: 3, Wait: time.Minute},
		"of another type":   stepwell.Debounce{Key: stepwell.KeyOf(func(s string) string { return s }), Quiet: time.Minute},
		"a nil function":    stepwell.Debounce{Key: stepwell.KeyOf[doc](nil), Quiet: time.Minute},
		"no path":           stepwell.Debounce{By: "a..b", Quiet: time.Minute},
		"a nil option":      nil,
		"a negative number": stepwell.Batch{Size: -1, Wait: time.Minute},
	} {
		refused(t, name, option)
	}
	refused(t, "a singleton", stepwell.Debounce{Key: key, Quiet: time.Minute}, stepwell.Singleton{})
}

func refused(t *testing.T, what string, options ...stepwell.WorkflowOption) {
	t.Helper()
	bad := stepwell.Define("bad", func(stepwell.Context, doc) (int, error) { return 0, nil }, options...)
	if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{bad}}); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("%s: got %v", what, err)
	}
}
