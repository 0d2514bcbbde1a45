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
		got, _, err := hook.Wait(ctx)
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
		if err := r.client().HeartbeatHook(r.ctx, "survey", 1); err != nil {
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

// TestAForkOfAHookWithHeartbeats: its own hook is heard, and what was heard of the origin's counts.
func TestAForkOfAHookWithHeartbeats(t *testing.T) {
	wf := stepwell.Define("survey", func(ctx stepwell.Context, _ string) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.HeartbeatTimeout(8*time.Minute))
		if err != nil {
			return "", err
		}
		v, _, err := hook.Wait(ctx)
		return v, err
	})
	everywhere(t, func(r *rig) {
		wk := r.begin(wf)
		run := start(r, wk, wf, "")
		r.pass(time.Minute)
		tokenOf := func(id string) string {
			hooks, err := wk.Hooks(r.ctx, id, "")
			if err != nil || len(hooks) != 1 {
				r.Fatalf("hooks of run %s: %+v, %v", id, hooks, err)
			}
			return hooks[0].Token
		}
		if err := r.client().HeartbeatHook(r.ctx, tokenOf(run.ID()), 1); err != nil {
			r.Fatal(err)
		}
		r.pass(time.Minute)
		last := r.events(run.ID())
		fork, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: last[len(last)-1].Seq})
		if err != nil {
			r.Fatal(err)
		}
		r.pass(time.Minute)
		for range 3 {
			if err := r.client().HeartbeatHook(r.ctx, tokenOf(fork.ID()), 2); err != nil {
				r.Fatal(err)
			}
			r.pass(5 * time.Minute)
		}
		if err := wk.SendHook(r.ctx, tokenOf(fork.ID()), []byte(`"done"`)); err != nil {
			r.Fatal(err)
		}
		want(r, wf.Get(wk.App, fork.ID()), "done")
		r.replays(fork.ID(), wf)
	})
}
