package behaviour_test

// Hooks whose holders say that they are still at it, while no worker is there to hear it.

import (
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestAHeartbeatThatNoWorkerHeard: what was said in time counts, though the worker that comes finds both.
func TestAHeartbeatThatNoWorkerHeard(t *testing.T) {
	wf := stepwell.Define("survey", func(ctx stepwell.Context, _ string) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("survey"), stepwell.HeartbeatTimeout(8*time.Minute))
		if err != nil {
			return "", err
		}
		got, err := hook.Receive(ctx)
		if errors.Is(err, stepwell.ErrHeartbeat) {
			return "silent", nil
		}
		return got, err
	})
	everywhere(t, func(r *rig) {
		first := r.begin(wf)
		run := start(r, first, wf, "")
		r.pass(time.Minute)
		first.stop(r.T)
		r.pass(7 * time.Minute)
		if err := stepwell.HeartbeatHook(r.ctx, r.client(), "survey", 1); err != nil {
			r.Fatal(err)
		}
		r.pass(4 * time.Minute) // the time is over since three
		second := r.begin(wf)
		r.pass(time.Minute)
		if err := second.SendHook(r.ctx, "survey", []byte(`"done"`)); err != nil {
			r.Fatal(err)
		}
		want(r, run, "done")
		r.replays(run.ID(), wf)
	})
}
