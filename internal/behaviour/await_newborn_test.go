package behaviour_test

// A child can be awaited by its ID from the moment on that it was asked for.

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

func TestAChildOfTheSameTurnIsAwaited(t *testing.T) {
	everywhere(t, func(r *rig) {
		child := stepwell.Define("newborn", func(ctx stepwell.Context, n int) (int, error) {
			return n, stepwell.Sleep(ctx, "nap", time.Minute)
		})
		parent := stepwell.Define("of-newborn", func(ctx stepwell.Context, n int) (int, error) {
			run := child.Child(stepwell.Detached()).Start(ctx, n)
			return stepwell.AwaitRun[int](ctx, run.ID())
		})
		wk := r.begin(parent, child)
		run := start(r, wk, parent, 7)
		if got, err := run.Result(r.ctx); err != nil || got != 7 {
			r.Errorf("got %d, %v, want what the child came to", got, err)
		}
		r.replays(run.ID(), parent, child)
	})
}
