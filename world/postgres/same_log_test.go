package postgres_test

// The same programs leave the same log on every world: an author who moves from a file to PostgreSQL sees no difference.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// program is a workflow with whatever happens to its run from outside.
type program struct {
	defs    []stepwell.Definition
	outside func(o *outside) // called when the run was started
}

// outside is what operators and senders have of a run.
type outside struct {
	*testing.T
	app *stepwell.App
	run string
}

// waits waits until the run waits for something of a kind.
func (o *outside) waits(kind stepwell.WhyKind) {
	o.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); ; <-tick.C {
		why, err := o.app.Why(o.Context(), o.run)
		switch {
		case err != nil:
			o.Fatal(err)
		case why.Kind == kind:
			return
		case time.Now().After(end):
			o.Fatalf("the run is %s, want %s", why.Kind, kind)
		}
	}
}

func (o *outside) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

var errBusy = errors.New("busy")

// programs are the examples of the documentation and what they leave out. Each is one way through the engine; side by side work is ordered by
// its results, so that there is one log.
func programs() map[string]program {
	said := stepwell.Event[string]("said")
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	area := stepwell.Define("area", func(_ stepwell.Context, side int) (int, error) { return side * side, nil })
	step := func(ctx stepwell.Context, name string, n int) (int, error) {
		return stepwell.Step(ctx, name, func(context.Context) (int, error) { return n, nil })
	}
	run := func(code func(ctx stepwell.Context) (any, error)) stepwell.Definition {
		return stepwell.Define("main", func(ctx stepwell.Context, _ int) (any, error) { return code(ctx) })
	}
	only := func(code func(ctx stepwell.Context) (any, error)) program {
		return program{defs: []stepwell.Definition{run(code)}}
	}
	return map[string]program{
		"serial steps": only(func(ctx stepwell.Context) (any, error) {
			sum := 0
			for i := range 10 {
				n, err := step(ctx, "add", i)
				if err != nil {
					return nil, err
				}
				sum += n
			}
			return sum, nil
		}),
		"sleep": only(func(ctx stepwell.Context) (any, error) {
			return "slept", stepwell.Sleep(ctx, "nap", 20*time.Millisecond)
		}),
		"retries": only(func(ctx stepwell.Context) (any, error) {
			return stepwell.Step(ctx, "flaky", func(ctx context.Context) (int, error) {
				if n := stepwell.Info(ctx).Attempt; n < 3 {
					return 0, fmt.Errorf("attempt %d: %w", n, errBusy)
				}
				return 3, nil
			}, stepwell.Retry{Base: time.Millisecond, Jitter: -1})
		}),
		"a failure": only(func(ctx stepwell.Context) (any, error) {
			return nil, stepwell.Do(ctx, "fails", func(context.Context) error { return stepwell.Fatal(errBusy) })
		}),
		"a patch": only(func(ctx stepwell.Context) (any, error) { return stepwell.Patched(ctx, "new-way"), nil }),
		"registered steps": {defs: []stepwell.Definition{double, run(func(ctx stepwell.Context) (any, error) {
			n, err := double.Run(ctx, 21)
			if err != nil {
				return nil, err
			}
			return double.Run(ctx, n)
		})}},
		"a child": {defs: []stepwell.Definition{area, run(func(ctx stepwell.Context) (any, error) { return area.Child().Run(ctx, 7) })}},
		"an event": {defs: []stepwell.Definition{run(func(ctx stepwell.Context) (any, error) {
			s, ok, err := said.Wait(ctx)
			return fmt.Sprint(s, ok), err
		})}, outside: func(o *outside) {
			o.waits(stepwell.WhyEvent)
			o.must(said.Send(o.Context(), o.app, o.run, "hello", stepwell.DeliveryID("d-1")))
		}},
		"a hook": {defs: []stepwell.Definition{run(func(ctx stepwell.Context) (any, error) {
			hook, err := stepwell.NewHook[string](ctx, stepwell.Token("the-token"))
			if err != nil {
				return nil, err
			}
			first, _, err := hook.Wait(ctx)
			if err != nil {
				return nil, err
			}
			second, _, err := hook.Wait(ctx)
			return first + second, err
		})}, outside: func(o *outside) {
			o.waits(stepwell.WhyHook)
			o.must(o.app.SendHook(o.Context(), "the-token", json.RawMessage(`"a"`), stepwell.DeliveryID("d-1")))
			o.must(o.app.SendHook(o.Context(), "the-token", json.RawMessage(`"b"`), stepwell.DeliveryID("d-2")))
		}},
		"a cancel with clean-up": {defs: []stepwell.Definition{run(func(ctx stepwell.Context) (any, error) {
			_, _, err := said.Wait(ctx)
			if errors.Is(err, stepwell.ErrCancelled) {
				_, _ = step(ctx.Uncancelled(), "clean-up", 1)
			}
			return nil, err
		})}, outside: func(o *outside) {
			o.waits(stepwell.WhyEvent)
			o.must(o.app.Cancel(o.Context(), o.run, "enough"))
		}},
		"a pause": {defs: []stepwell.Definition{run(func(ctx stepwell.Context) (any, error) {
			s, _, err := said.Wait(ctx)
			return s, err
		})}, outside: func(o *outside) {
			o.waits(stepwell.WhyEvent)
			o.must(o.app.Pause(o.Context(), o.run, "lunch"))
			o.waits(stepwell.WhyPaused)
			o.must(said.Send(o.Context(), o.app, o.run, "late", stepwell.DeliveryID("d-1")))
			o.must(o.app.Resume(o.Context(), o.run))
		}},
		"a woken sleep": {defs: []stepwell.Definition{run(func(ctx stepwell.Context) (any, error) {
			return "up", stepwell.Sleep(ctx, "winter", 90*24*time.Hour)
		})}, outside: func(o *outside) {
			o.waits(stepwell.WhySleep)
			_, err := o.app.Wake(o.Context(), o.run)
			o.must(err)
		}},
	}
}

// TestSameLogOnEveryWorld runs each program on each world and compares what clients can observe of its log.
func TestSameLogOnEveryWorld(t *testing.T) {
	t.Parallel()
	worlds := map[string]func(t *testing.T) (world.World, error){
		"memory":   func(*testing.T) (world.World, error) { return memory.New(), nil },
		"sqlite":   func(t *testing.T) (world.World, error) { return sqlite.Open(filepath.Join(t.TempDir(), "runs.db")) },
		"postgres": func(t *testing.T) (world.World, error) { return postgres.Open(t.Context(), pgtest.URL(t)) },
	}
	try := sample.Share(t, 2)
	for i, name := range slices.Sorted(maps.Keys(programs())) {
		if !try(i + 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := make(map[string][]string)
			for kind, open := range worlds {
				w, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				logs[kind] = logOf(t, w, programs()[name])
			}
			for _, kind := range []string{"sqlite", "postgres"} {
				if diff := cmp.Diff(logs["memory"], logs[kind]); diff != "" {
					t.Errorf("log on %s against memory (-memory +%s):\n%s", kind, kind, diff)
				}
			}
		})
	}
}

// logOf runs a program to its end and returns its log, a line an event.
func logOf(t *testing.T, w world.World, p program) (lines []string) {
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	app := work(t, w, p.defs...)
	run, err := app.Start(t.Context(), "main", json.RawMessage("0"), stepwell.Version(1)) // whoever claims it first
	if err != nil {
		t.Fatal(err)
	}
	if p.outside != nil {
		p.outside(&outside{T: t, app: app, run: run.ID()})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = run.Result(ctx)
	if _, ended := errors.AsType[*stepwell.RunError](err); err != nil && !ended {
		t.Fatal(err)
	}
	names := map[string]string{run.ID(): "run"} // IDs differ by run and time: they are named by their first appearance
	name := func(id string) string {
		if id != "" && names[id] == "" {
			names[id] = fmt.Sprint("#", len(names))
		}
		return names[id]
	}
	last := time.Time{}
	for e, err := range app.Events(t.Context(), run.ID(), stepwell.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Time.Before(last) {
			t.Errorf("event %d is of %s, before the one before it", e.Seq, e.Time)
		}
		last = e.Time
		if e.Birth != nil {
			e.Birth.Seed = 0
		}
		if e.Type != world.HookReceived && e.Type != world.SignalReceived {
			e.Delivery = "" // made up for what the caller did not name
		}
		e.ID, e.Peer, e.By = name(e.ID), name(e.Peer), ""
		e.Time, e.OccurredAt, e.RetryAt, e.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		e.Commit, e.Build = 0, ""
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		line := string(b)
		for id, is := range names { // errors name the steps that they came of
			line = strings.ReplaceAll(line, id, is)
		}
		lines = append(lines, line)
	}
	return lines
}
