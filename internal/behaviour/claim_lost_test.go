package behaviour_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestALostTakeEndsNothingThatRuns: where the answer to a claim is lost, a worker that was given nothing goes on with what it has; one that was given a run gives
// up what it has, so that both come back.
func TestALostTakeEndsNothingThatRuns(t *testing.T) {
	for name, c := range map[string]struct {
		lost   bool // the claim was made
		bodies int32
	}{
		"it was not made":   {false, 2},
		"it gave the other": {true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				var bodies atomic.Int32
				wf := stepwell.Define("long", func(ctx stepwell.Context, _ int) (int, error) {
					return stepwell.Step(ctx, "body", func(ctx context.Context) (int, error) {
						bodies.Add(1)
						select {
						case <-time.After(30 * time.Second):
							return 1, nil
						case <-ctx.Done():
							return 0, ctx.Err()
						}
					})
				})
				var asked, lost atomic.Bool
				app, err := stepwell.New(faults.New(w, func(call faults.Call) faults.Fault {
					if call.Op != faults.Claim || !asked.Load() || lost.Swap(true) {
						return faults.Fault{}
					}
					return faults.Fault{Err: world.ErrUnknownOutcome, Lost: c.lost}
				}), stepwell.Config{Definitions: []stepwell.Definition{wf}})
				if err != nil {
					t.Fatal(err)
				}
				client, err := stepwell.New(w, stepwell.Config{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- app.Run(ctx) }()
				synctest.Wait()
				var runs [2]*stepwell.Run[int]
				for i := range runs {
					if runs[i], err = wf.Start(ctx, client, 0); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // the first one's body runs
					asked.Store(true)
				}
				for _, run := range runs {
					if n, err := run.Result(ctx); n != 1 || err != nil {
						t.Errorf("got %d, %v, want 1", n, err)
					}
				}
				if got := bodies.Load(); got != c.bodies || !lost.Load() {
					t.Errorf("got %d bodies, a claim's answer lost: %t; want %d, true", got, lost.Load(), c.bodies)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
