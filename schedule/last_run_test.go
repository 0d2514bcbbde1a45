package schedule_test

// What counts as the last run of a schedule: what was made of it, and what came of one that is deleted since.

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestRestartsCountAsTheLastRun: in place or beside, and what was made of them in turn.
func TestRestartsCountAsTheLastRun(t *testing.T) {
	for name, inPlace := range map[string]bool{"in place": true, "beside": false} {
		for overlap, want := range map[world.Overlap]world.Status{schedule.Skip: world.Running, schedule.Cancel: world.Cancelled} {
			t.Run(name+" "+string(overlap), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					of := report()
					app, _ := run(t, memory.New(), of)
					putX(t, app, of, 600, schedule.Times("@hourly"), schedule.Overlap(overlap))
					time.Sleep(70 * time.Minute)
					last := "x@2000-01-01T01:00:00Z"
					for range 2 {
						if err := app.Cancel(t.Context(), last, "anew"); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Minute)
						again, err := app.Restart(t.Context(), last, stepwell.RestartOptions{InPlace: inPlace})
						if err != nil {
							t.Fatal(err)
						}
						last = again.ID()
					}
					time.Sleep(50 * time.Minute) // 2:02
					info, err := app.Get(t.Context(), last)
					if err != nil || info.Status != want {
						t.Errorf("got %s, %v, want %s", info.Status, err, want)
					}
					runs := map[world.Overlap]int{schedule.Skip: 1, schedule.Cancel: 2}[overlap]
					counts(t, app, runs, 2-runs, 0)
				})
			})
		}
	}
}

// TestCompletedIsKnownThoughDeleted: runs that are kept for three hours only still tell the next one, a day later, that
// they completed.
func TestCompletedIsKnownThoughDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := stepwell.Define("report", func(ctx stepwell.Context, minutes int) (string, error) {
			fire, _ := schedule.Of(ctx)
			return fire.Previous.Format(time.DateOnly), stepwell.Sleep(ctx, "work", time.Duration(minutes)*time.Minute)
		}, stepwell.Retention(3*time.Hour))
		app, _ := run(t, memory.New(), of)
		putX(t, app, of, 90, schedule.Times("@daily"))
		time.Sleep(47 * time.Hour)
		info, err := app.Get(t.Context(), "x@2000-01-02T00:00:00Z")
		if err == nil {
			t.Fatalf("it is kept: %+v", info)
		}
		time.Sleep(3 * time.Hour)
		info, err = app.Get(t.Context(), "x@2000-01-03T00:00:00Z")
		if err != nil || string(info.Output) != `"2000-01-02"` {
			t.Errorf("got %s, %v", info.Output, err)
		}
	})
}

// TestBackfilledRunsHaveEarlierOnesBefore: what a run is told that completed before it is not of its own time, where
// the run that was is deleted.
func TestBackfilledRunsHaveEarlierOnesBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := stepwell.Define("report", func(stepwell.Context, int) (string, error) { return "", nil }, stepwell.Retention(90*time.Minute))
		app, _ := run(t, memory.New(), of)
		putX(t, app, of, 1, schedule.Times("@hourly"))
		time.Sleep(2*time.Hour + 40*time.Minute)
		first := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)
		if s := stands(t, app, "x"); !s.Is.Done.Equal(first) {
			t.Fatalf("it stands so: %+v", s.Is)
		}
		ids, err := schedule.Backfill(t.Context(), app, "x", first, first)
		if err != nil || len(ids) != 1 {
			t.Fatalf("got %q, %v", ids, err)
		}
		info, err := app.Get(t.Context(), ids[0])
		if err != nil || info.Attributes[world.AttributeSchedulePrevious] != nil {
			t.Errorf("got %s, %v", info.Attributes, err)
		}
	})
}

// TestComputedElsewhere: who has not the code of a schedule is told who has; who has it does it.
func TestComputedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := memory.New(), report()
		day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		has, _ := run(t, w, of, schedule.Set("reports", 1, schedule.Computed("x", of, func(time.Time, time.Time) int { return 1 }, schedule.Times("@hourly"))))
		lacks, _ := run(t, w, of)
		time.Sleep(150 * time.Minute)
		for what, do := range map[string]func(app *stepwell.App) error{
			"trigger it there": func(app *stepwell.App) error { _, err := schedule.Trigger(t.Context(), app, "x"); return err },
			"backfill it there": func(app *stepwell.App) error {
				_, err := schedule.Backfill(t.Context(), app, "x", day.Add(-time.Hour), day)
				return err
			},
		} {
			if err := do(lacks); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "the set reports") {
				t.Errorf("got %v, want %q", err, what)
			}
			if err := do(has); err != nil {
				t.Errorf("who has it: %v", err)
			}
		}
		time.Sleep(2 * time.Minute)
		if got := ran(t, has); len(got) != 5 {
			t.Errorf("got runs of %q", got)
		}
	})
}
