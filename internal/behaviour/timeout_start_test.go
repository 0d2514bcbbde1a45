package behaviour_test

// This file holds answer 3 where a turn has to be written in parts: what arrived before the deadline is handled, and no step starts after it.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestRunTimeoutStartsNothingMore(t *testing.T) {
	everywhere(t, func(r *rig) {
		bodies := 0
		wf := stepwell.Define("late-starts", func(ctx stepwell.Context, _ int) (int, error) {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "flaky", func(context.Context) (int, error) {
					bodies++
					return 0, stepwell.RetryAfter(errors.New("busy"), 20*time.Second)
				})
			})
			if _, _, err := note.Wait(ctx); err != nil {
				return 0, err
			}
			if _, err := stepwell.NewHook[string](ctx, stepwell.Token("late")); err != nil { // is written alone, before the deadline is
				return 0, err
			}
			return 0, stepwell.Sleep(ctx, "long", time.Hour)
		}, stepwell.Timeout(time.Minute))
		first := r.begin(wf)
		run := start(r, first, wf, 0)
		until(r, "the first attempt to fail", func() bool { return r.count(run.ID(), world.StepRetrying, "flaky") == 1 })
		first.stop(r)
		if err := note.Send(r.ctx, r.client(), run.ID(), "in time"); err != nil {
			r.Fatal(err)
		}
		r.pass(2 * time.Minute)
		r.begin(wf)
		if e := wantErr(r, run, world.Failed); e.Code != world.CodeTimeout {
			r.Errorf("failed with %v, want TIMEOUT", e)
		}
		if n := r.count(run.ID(), world.StepStarted, "flaky"); n != 1 || bodies != 1 || r.count(run.ID(), world.SignalReceived, "") != 1 {
			r.dump(run.ID())
			r.Errorf("%d starts, %d bodies; want one each, and the note before the deadline", n, bodies)
		}
		r.replays(run.ID(), wf)
	})
}
