package stepwell_test

// What a run learns of another one that was cancelled.

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
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
			_, err := child.Child(stepwell.ChildOptions{ID: "child:" + ctx.RunID()}).Run(ctx, returns)
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
