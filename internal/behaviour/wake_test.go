package behaviour_test

// Ending sleeps early.

import (
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestWakeEndsSleepsAlone: it ends the sleeps that are open, says how many, touches no other wait, and refuses runs that are over or unknown.
func TestWakeEndsSleepsAlone(t *testing.T) {
	everywhere(t, func(r *rig) {
		paid := stepwell.Event[string]("paid")
		wf := stepwell.Define("naps", func(ctx stepwell.Context, _ int) (time.Duration, error) {
			before := ctx.Now()
			a, b := stepwell.Timer(ctx, "a", time.Hour), stepwell.Timer(ctx, "b", 2*time.Hour)
			if _, err := stepwell.All(ctx, a, b); err != nil {
				return 0, err
			}
			slept := ctx.Now().Sub(before)
			_, _, err := paid.Wait(ctx)
			return slept.Round(time.Second), err
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		r.wantWhy(app.App, run.ID(), stepwell.WhySleep, `sleeping in "a"`)
		r.pass(time.Minute)
		if n, err := app.Wake(r.ctx, run.ID()); n.Sleeps != 2 || n.Total() != 2 || err != nil {
			r.Errorf("Wake = %+v, %v, want 2", n, err)
		}
		r.wantWhy(app.App, run.ID(), stepwell.WhyEvent, `"paid"`)
		if n, err := app.Wake(r.ctx, run.ID()); n.Total() != 0 || err != nil {
			r.Errorf("Wake of a run that waits for an event = %+v, %v, want 0", n, err)
		}
		if err := paid.Send(r.ctx, app.App, run.ID(), "cash"); err != nil {
			r.Fatal(err)
		}
		want(r, run, time.Minute)
		if n, err := app.Wake(r.ctx, run.ID()); n.Total() != 0 || !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("Wake of a run that is over = %+v, %v, want ErrTerminal", n, err)
		}
		if _, err := app.Wake(r.ctx, "wrun_none"); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("Wake of an unknown run: %v, want ErrNotFound", err)
		}
	})
}
