package stepwelltest_test

// This file holds when a test begins.

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/stepwelltest"
)

// TestNothingIsDueFromBeforeTheStart: a schedule that makes good for a year has run once a day later.
func TestNothingIsDueFromBeforeTheStart(t *testing.T) {
	t.Parallel()
	report := stepwell.Define("report", func(ctx stepwell.Context, _ string) (string, error) { return ctx.Now().Format(time.DateOnly), nil })
	nightly := schedule.New("nightly", report, "all", schedule.Times("0 3 * * *"), schedule.CatchUp(366*24*time.Hour))
	start := time.Date(2026, 3, 28, 12, 0, 0, 0, time.FixedZone("", 3600))
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := stepwelltest.NewWith(t, stepwelltest.Options{
			Config: stepwell.Config{Definitions: []stepwell.Definition{report, schedule.Set("reports", 1, nightly)}},
			Store:  on,
			Start:  start,
		})
		if got := env.Now(); !got.Equal(start) {
			t.Errorf("it begins at %s, want %s", got, start)
		}
		env.Advance(24 * time.Hour)
		env.Do(func(ctx context.Context, app *stepwell.App) error {
			runs := 0
			for run, err := range app.List(ctx, stepwell.ListFilter{}) {
				if err != nil {
					return err
				}
				if !run.CreatedAt.After(start) {
					t.Errorf("run %s was created at %s", run.ID, run.CreatedAt)
				}
				runs++
			}
			if runs != 1 {
				t.Errorf("got %d runs, want that of the 29th", runs)
			}
			return nil
		})
		env.CrashEverywhere()
	})
}

func TestATestCannotStartBeforeItsClock(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		stepwelltest.NewWith(t, stepwelltest.Options{Start: time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)})
	}, "a test cannot start at 1999-12-31")
}
