package behaviour_test

// Times that there are not, and the last ones that there are, in the hands of workflow code and of clients.

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var (
	atNever = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	beyond  = []time.Time{atNever.Add(1), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(294248, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64/2, 0), time.Unix(math.MinInt64/2, 0)}
	longest = time.Duration(math.MaxInt64)
)

// TestASleepUntilATimeThatThereIsNotIsAnError: the code is told, and goes on; nothing is written.
func TestASleepUntilATimeThatThereIsNotIsAnError(t *testing.T) {
	wf := stepwell.Define("beyond", func(ctx stepwell.Context, _ struct{}) (refused int, err error) {
		for _, t := range beyond {
			if err := stepwell.SleepUntil(ctx, "beyond", t); errors.Is(err, stepwell.ErrInvalid) {
				refused++
			}
		}
		return refused, stepwell.SleepUntil(ctx, "beyond", ctx.Now().Add(time.Second))
	})
	everywhere(t, func(r *rig) {
		app := r.begin(wf)
		run := start(r, app, wf, struct{}{})
		want(r, run, len(beyond))
		if n := r.count(run.ID(), world.WaitCreated, ""); n != 1 {
			r.Errorf("%d sleeps in the log, want 1", n)
		}
		r.replays(run.ID(), wf)
		for _, at := range beyond {
			for _, f := range []stepwell.ListFilter{{Since: at}, {Until: at}} {
				for _, err := range app.List(r.ctx, f) {
					if !errors.Is(err, stepwell.ErrInvalid) {
						r.Errorf("a list from %s until %s: error %v, want ErrInvalid", f.Since, f.Until, err)
					}
				}
			}
		}
	})
}

// TestNeverIsATime: a run that sleeps as long as can be said is listed, shown, exported and cancelled as any other.
func TestNeverIsATime(t *testing.T) {
	wf := stepwell.Define("never", func(ctx stepwell.Context, _ struct{}) (int, error) {
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.Sleep(ctx, "long", longest) })
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			_, _, err := numbers.Wait(ctx, stepwell.Timeout(longest))
			return 0, err
		})
		return 0, stepwell.SleepUntil(ctx, "never", atNever)
	}, stepwell.Timeout(longest), stepwell.Retention(longest))
	everywhere(t, func(r *rig) {
		app := r.begin(wf)
		run := start(r, app, wf, struct{}{})
		late := start(r, app, wf, struct{}{}, stepwell.Delay(longest))
		until(r, "the sleeps", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 3 })
		r.pass(time.Minute)
		seen := 0
		for info, err := range app.List(r.ctx, stepwell.ListFilter{Until: atNever}) {
			if err != nil {
				r.Fatal(err)
			}
			if _, err := json.Marshal(info); err != nil {
				r.Error(err)
			}
			seen++
		}
		if seen != 2 {
			r.Errorf("listed %d runs, want 2", seen)
		}
		why, err := app.Why(r.ctx, run.ID())
		if _, err2 := json.Marshal(why); err != nil || err2 != nil {
			r.Errorf("Why = %v, as JSON %v", err, err2)
		}
		var b bytes.Buffer
		if err := app.Export(r.ctx, run.ID(), &b); err != nil {
			r.Errorf("Export = %v", err)
		}
		for _, e := range r.events(run.ID(), world.WaitCreated) {
			if e.Name == "never" && !e.Until.Equal(world.MaxTime) {
				r.Errorf("never is %s, want %s", e.Until, world.MaxTime)
			}
		}
		if n := r.get(run.ID()).Claims; n > 3 {
			r.Errorf("taken %d times", n)
		}
		r.cancel(app.App, run.ID())
		r.cancel(app.App, late.ID())
	})
}
