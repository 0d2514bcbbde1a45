package schedule_test

// Deploys, and inputs that are computed badly.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world/memory"
)

// TestRollingDeploy: while an old program runs beside a new one, the new one's schedules start their runs; and what the
// new one has no more stays paused when the old one begins again.
func TestRollingDeploy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := memory.New(), report()
		input := func(time.Time, time.Time) int { return 1 }
		a := schedule.Computed("a", of, input, schedule.Times("@hourly"))
		b := schedule.Computed("b", of, input, schedule.Times("30 * * * *"))
		run(t, w, of, schedule.Set("s", 1, a))
		time.Sleep(time.Minute)
		app, stop := run(t, w, of, schedule.Set("s", 2, b))
		time.Sleep(3 * time.Hour)
		want(t, app, "1 00:30", "1 01:30", "1 02:30")
		stop()
		app, _ = run(t, w, of, schedule.Set("s", 1, a))
		time.Sleep(2 * time.Hour)
		if s := stands(t, app, "a"); s.Paused == nil || s.Revision != 2 {
			t.Errorf("what a newer program removed stands so: %+v", s)
		}
		if s := stands(t, app, "b"); s.Paused != nil {
			t.Errorf("what only a newer program computes is paused: %+v", s.Paused)
		}
	})
}

// TestInputPanics: a function that panics ends no program, and its schedule goes on when it does not any more.
func TestInputPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, calls := report(), 0
		app, _ := run(t, memory.New(), of, schedule.Set("s", 1, schedule.Computed("a", of, func(time.Time, time.Time) int {
			if calls++; calls < 3 {
				panic("no input")
			}
			return 1
		}, schedule.Times("@hourly"))))
		time.Sleep(90 * time.Minute)
		want(t, app, "1 01:00")
	})
}

// TestJitterBeyondCatchUp: a time is not missed while it waits for its jitter.
func TestJitterBeyondCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of, schedule.Set("s", 1, schedule.New("a", of, 1, schedule.Times("@hourly"), schedule.Jitter(30*time.Minute), schedule.CatchUp(time.Minute))))
		time.Sleep(10*time.Hour + 40*time.Minute)
		if s := stands(t, app, "a"); s.Is.Count != 10 || s.Is.Missed != 0 {
			t.Errorf("it stands so: %+v", s.Is)
		}
	})
}
