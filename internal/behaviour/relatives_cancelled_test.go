package behaviour_test

// What a run learns of another one that was cancelled.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Whatever the code of a cancelled run returned, and whether it ran at all: who waits for it is told that it was cancelled.
func TestAChildThatWasCancelledIsToldFromOneThatFailed(t *testing.T) {
	everywhere(t, func(r *rig) {
		child := stepwell.Define("child", func(ctx stepwell.Context, returns string) (string, error) {
			err := stepwell.Sleep(ctx, "long", 100*time.Hour)
			switch returns {
			case "another error":
				return "", errors.New("could not clean up")
			case "a value":
				return "done", nil
			}
			return "", err
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, returns string) (string, error) {
			_, err := child.Child(stepwell.RunID("child:"+ctx.RunID())).Run(ctx, returns)
			var failed *stepwell.StepError
			if !errors.As(err, &failed) {
				return "", fmt.Errorf("got %v, want a *StepError", err)
			}
			return fmt.Sprint(failed.Code, " ", errors.Is(err, stepwell.ErrCancelled)), nil
		})
		wk := r.begin(child, parent)
		for _, returns := range []string{"the cancel", "another error", "a value"} {
			run := start(r, wk, parent, returns)
			id := "child:" + run.ID()
			until(r, "the child", func() bool {
				info, err := wk.Get(r.ctx, id)
				return err == nil && info.Status == "running" && info.Queue.Owner == ""
			})
			r.cancel(wk.App, id)
			want(r, run, "CANCELLED true")
			r.replays(run.ID(), child, parent)
		}
	})
}

// unreadable is a world that cannot tell of runs for a while.
type unreadable struct {
	world.World
	mu    sync.Mutex
	fails map[string]int // guarded by mu: of these runs, so often
}

func (w *unreadable) Run(ctx context.Context, id string) (world.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails[id]--; w.fails[id] >= 0 {
		return world.Run{}, fmt.Errorf("%w: no connection", world.ErrStorage)
	}
	return w.World.Run(ctx, id)
}

// A worker that does not know the parent's code ends it. It asks the children whether they live on, and does not guess where the database does not
// answer.
func TestAChildIsNotCancelledBecauseItCouldNotBeRead(t *testing.T) {
	everywhere(t, func(r *rig) {
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (string, error) {
			sleeper.Child(stepwell.RunID("detached"), stepwell.Detached()).Start(ctx, time.Minute)
			return sleeper.Child(stepwell.RunID("attached")).Run(ctx, time.Minute)
		})
		wk := r.begin(parent, sleeper)
		run := start(r, wk, parent, 0)
		until(r, "the children", func() bool {
			_, a := r.world.Run(r.ctx, "attached")
			_, d := r.world.Run(r.ctx, "detached")
			return a == nil && d == nil
		})
		wk.stop(r.T)
		w := &unreadable{World: r.world, fails: map[string]int{"attached": 5, "detached": 5}}
		begin(r.T, w, stepwell.Config{Definitions: []stepwell.Definition{sleeper}})
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		wantErr(r, sleeper.Get(wk.App, "attached"), world.Cancelled)
		want(r, sleeper.Get(wk.App, "detached"), "slept")
		w.mu.Lock()
		defer w.mu.Unlock()
		for id, left := range w.fails {
			if left >= 0 {
				r.Errorf("reads of %s were to fail %d more times: the test shows nothing", id, left+1)
			}
		}
	})
}
