package behaviour_test

// Idle costs nothing: what a worker asks of its storage while there is nothing to do.

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAWorkerWhoseRunsSleepIsQuiet: a worker with a thousand runs that all sleep issues at most 2 statements a second.
func TestAWorkerWhoseRunsSleepIsQuiet(t *testing.T) {
	bubble(t, kinds[1].open, modes[0].set, func(r *rig) {
		nap := stepwell.Define("nap", func(ctx stepwell.Context, _ int) (int, error) { return 1, stepwell.Sleep(ctx, "nap", 10*time.Minute) })
		app := r.begin(nap)
		runs := make([]*stepwell.Run[int], 1000)
		for i := range runs {
			runs[i] = start(r, app, nap, 0)
		}
		until(r, "all to sleep", func() bool { return r.stats().Workers[0].Runs == 0 })
		r.pass(time.Second)
		const idle = time.Minute
		before := r.stats().Counters
		r.pass(idle)
		after := r.stats().Counters
		if got, most := after.Statements-before.Statements, int64(2*idle.Seconds()); got > most || got == 0 {
			r.Errorf("%d statements in %s, want some (it is alive), and at most %d", got, idle, most)
		} else {
			r.Logf("%.1f statements a second", float64(got)/idle.Seconds())
		}
		if got := after.Commits - before.Commits; got > 0 {
			r.Errorf("%d commits in %s, want none", got, idle)
		}
		for _, run := range runs {
			want(r, run, 1)
		}
	})
}

func (r *rig) stats() world.Stats {
	r.Helper()
	s, err := r.world.Stats(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	return s
}
