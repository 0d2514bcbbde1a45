package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestAbandonedCalls: a call whose context ends returns at once, while the writer goes on with the change; the two share nothing.
// The race detector is the judge: whatever the scheduler does, nothing orders the caller's return and the writer's answer.
func TestAbandonedCalls(t *testing.T) {
	for name, call := range map[string]func(w *World, wk world.Worker, run string) func(ctx context.Context) error{
		"Deliver": func(w *World, _ world.Worker, run string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Deliver(ctx, &world.Delivery{ID: rand.Text(), Run: run, Events: []world.Event{{
					Type: world.SignalReceived, Time: world.Now(), Name: "go", Payload: json.RawMessage(`1`),
				}}})
				return err
			}
		},
		"Take": func(w *World, wk world.Worker, _ string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Claim(ctx, world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 1})
				return err
			}
		},
		"Beat": func(w *World, wk world.Worker, _ string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Heartbeat(ctx, world.HeartbeatQuery{Worker: wk.ID})
				return err
			}
		},
		"Join": func(w *World, _ world.Worker, _ string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Join(ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Lease: time.Hour})
				return err
			}
		},
		"Sweep": func(w *World, _ world.Worker, _ string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Sweep(ctx, 1)
				return err
			}
		},
		"Commit": func(w *World, _ world.Worker, _ string) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := w.Commit(ctx, birthOf(world.NewID(world.PrefixRun, time.Now()), "greet"))
				return err
			}
		},
	} {
		const calls = 50
		t.Run(name, func(t *testing.T) {
			w := open(t)
			wk := join(t, w, time.Hour, world.Class{Workflow: "greet", Version: 1})
			var run string
			for range calls + 1 { // one that the worker owns, and one for each call that takes
				run = world.NewID(world.PrefixRun, time.Now())
				if _, err := w.Commit(t.Context(), birthOf(run, "greet")); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 1}); err != nil {
				t.Fatal(err)
			}
			f, abandoned := call(w, wk, run), 0
			for range calls {
				// The second pause and the call are one transaction: what the writer receives later does not come between them.
				first, second := newPause(), newPause()
				go first.write(w)
				<-first.in
				go second.write(w)
				waitFor(func() bool { return len(w.requests) == 1 })
				ctx, cancel := context.WithCancel(t.Context())
				told := make(chan error, 1)
				go func() { told <- f(ctx) }()
				waitFor(func() bool { return len(w.requests) == 2 || len(told) == 1 })
				close(first.out)
				<-second.in
				go close(second.out)
				cancel()
				if err := <-told; errors.Is(err, context.Canceled) {
					abandoned++
				}
			}
			if abandoned < calls/10 {
				t.Errorf("%d of %d calls were abandoned: the others waited for the writer, or never asked it", abandoned, calls)
			}
		})
	}
}

// pause is a change during which the writer waits.
type pause struct{ in, out chan struct{} }

func newPause() pause { return pause{in: make(chan struct{}), out: make(chan struct{})} }

func (p pause) write(w *World) error {
	return w.write(context.Background(), func(*group) error { close(p.in); <-p.out; return nil })
}

// waitFor waits for what no channel tells.
func waitFor(f func() bool) {
	for tick := time.NewTicker(100 * time.Microsecond); !f(); {
		<-tick.C
	}
}
