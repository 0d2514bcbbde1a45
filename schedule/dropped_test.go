package schedule_test

// What was due and gets no run any more, as people change, pause or take what is its own: it is counted.

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// counts holds what a schedule has counted: runs, skipped and missed times.
func counts(t *testing.T, app *stepwell.App, runs, skipped, missed int) {
	t.Helper()
	synctest.Wait()
	if is := stands(t, app, "x").Is; is.Count != runs || is.Skipped != skipped || is.Missed != missed {
		t.Errorf("got %d runs, %d skipped, %d missed, want %d, %d and %d", is.Count, is.Skipped, is.Missed, runs, skipped, missed)
	}
}

// putX makes the schedule x, or changes it.
func putX(t *testing.T, app *stepwell.App, of *stepwell.Workflow[int, string], minutes int, opts ...schedule.Option) {
	t.Helper()
	if err := schedule.Put(t.Context(), app, schedule.New("x", of, minutes, opts...), "ann"); err != nil {
		t.Fatal(err)
	}
}

// TestChangeOfTimesCountsWhatWaited: times that wait for the end of the last run are skipped when others take their
// place; what is said anew without others is not.
func TestChangeOfTimesCountsWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of)
		all := schedule.Overlap(schedule.QueueAll)
		putX(t, app, of, 600, schedule.Times("@hourly"), all)
		time.Sleep(4*time.Hour + 30*time.Minute)
		counts(t, app, 1, 0, 0) // of 1:00, and 2:00, 3:00 and 4:00 wait
		putX(t, app, of, 1, schedule.Times("@hourly"), all)
		counts(t, app, 1, 0, 0)
		putX(t, app, of, 1, schedule.Times("45 * * * *"), all)
		counts(t, app, 1, 3, 0)
		if s := stands(t, app, "x"); s.Is.Passed.Hour() != 4 || s.Is.Next.Minute() != 45 {
			t.Errorf("it stands so: %+v", s.Is)
		}
		time.Sleep(7 * time.Hour) // 11:30; the run of 1:00 was over at 11:00
		want(t, app, "1 01:00", "1 04:45", "1 05:45", "1 06:45", "1 07:45", "1 08:45", "1 09:45", "1 10:45")
		counts(t, app, 8, 3, 0)
	})
}

// TestChangeAfterAnOutage: what nobody saw within the window is missed, and what was due within it is skipped.
func TestChangeAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := memory.New(), report()
		app, stop := run(t, w, of)
		putX(t, app, of, 1, schedule.Times("@hourly"), schedule.CatchUp(2*time.Hour))
		stop()
		time.Sleep(6*time.Hour + 30*time.Minute)
		app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)}) // it does not look
		if err != nil {
			t.Fatal(err)
		}
		putX(t, app, of, 1, schedule.Times("45 * * * *"), schedule.CatchUp(2*time.Hour))
		counts(t, app, 0, 2, 4)
	})
}

// TestPauseCountsWhatWaited: what was due before a pause and waited has no run behind it, and is skipped; what came
// while it was paused is not counted, and a second note does not change since when it is.
func TestPauseCountsWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of)
		putX(t, app, of, 150, schedule.Times("@hourly"), schedule.Overlap(schedule.QueueAll))
		time.Sleep(3*time.Hour + 10*time.Minute)
		for _, reason := range []string{"holidays", "they are long"} {
			if err := schedule.Pause(t.Context(), app, "x", "ann", reason); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Hour)
		}
		counts(t, app, 1, 0, 0)
		if err := schedule.Resume(t.Context(), app, "x"); err != nil {
			t.Fatal(err)
		}
		counts(t, app, 1, 2, 0)
		time.Sleep(time.Hour)
		want(t, app, "1 01:00", "2 00:00 running")
		counts(t, app, 2, 2, 0)
	})
}

// TestIDOfAStranger: a time whose run's ID is another run's is skipped, also where it is the last that would start.
func TestIDOfAStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of)
		putX(t, app, of, 1, schedule.Times("@hourly"), schedule.Runs(2))
		other := stepwell.Define("other", func(stepwell.Context, int) (int, error) { return 0, nil })
		for _, id := range []string{"x@2000-01-01T02:00:00Z", "x@2000-01-01T03:00:00Z"} {
			if _, err := other.Start(t.Context(), app, 1, stepwell.RunID(id)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2*time.Hour + time.Minute)
		if s := stands(t, app, "x"); !strings.Contains(s.Is.Error, "exists") || s.Is.Passed.Hour() != 2 {
			t.Errorf("it stands so: %+v", s.Is)
		}
		counts(t, app, 1, 1, 0)
		time.Sleep(8 * time.Hour)
		want(t, app, "1 01:00", "1 04:00")
		counts(t, app, 2, 2, 0)
	})
}

// TestNothingToCome: who makes a schedule by hand whose times are all past is told, also of one that is changed so; a
// program may still have it.
func TestNothingToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		past := schedule.New("x", of, 1, schedule.Times("@at 1999-12-24T18:00:00Z"))
		app, _ := run(t, memory.New(), of, schedule.Set("s", 1, schedule.New("y", of, 1, schedule.Times("@at 1999-12-24T18:00:00Z"))))
		for range 2 {
			if err := schedule.Put(t.Context(), app, past, "ann"); !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), "all of its times are past") {
				t.Errorf("got %v", err)
			}
			putX(t, app, of, 1, schedule.Times("@hourly"))
		}
		time.Sleep(90 * time.Minute)
		if err := schedule.Put(t.Context(), app, schedule.New("x", of, 1, schedule.Times("@hourly"), schedule.Runs(1)), "ann"); !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), "has started 1 run") {
			t.Errorf("got %v", err)
		}
		want(t, app, "1 01:00")
		if s := stands(t, app, "y"); !s.Is.Next.IsZero() || s.Paused != nil {
			t.Errorf("a program's stands so: %+v", s)
		}
		putX(t, app, of, 1, schedule.Times("@at 2000-01-01T02:00:00Z"))
		time.Sleep(time.Hour)
		putX(t, app, of, 2, schedule.Times("@at 2000-01-01T02:00:00Z")) // it is over, and its times stay
	})
}

// faulty is a world that cannot start runs of schedules until a time.
type faulty struct {
	world.World
	until time.Time
}

func (w *faulty) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if c.Schedule != nil && time.Now().Before(w.until) {
		return world.Committed{}, errors.New("the disk is away")
	}
	return w.World.Commit(ctx, c)
}

// TestFaultThatOutlastsTheWindow: what was looked at in time and cannot be started is not missed.
func TestFaultThatOutlastsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, &faulty{memory.New(), time.Now().Add(100 * time.Minute)}, of)
		putX(t, app, of, 1, schedule.Times("@hourly"), schedule.CatchUp(10*time.Minute))
		time.Sleep(90 * time.Minute)
		if s := stands(t, app, "x"); !strings.Contains(s.Is.Error, "disk") || s.Is.Tries < 10 {
			t.Errorf("it stands so: %+v", s.Is)
		}
		time.Sleep(20 * time.Minute)
		want(t, app, "1 01:00")
		counts(t, app, 1, 0, 0)
	})
}
