package schedule_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/flow"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world/memory"
)

// TestMergedStarts: a time whose start is merged into the live run of a singleton is done, and says into which run; so do
// a trigger and a backfill.
func TestMergedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := stepwell.Define("long", func(ctx stepwell.Context, minutes int) (int, error) {
			return minutes, stepwell.Sleep(ctx, "work", time.Duration(minutes)*time.Minute)
		}, flow.Singleton(flow.Keep))
		w := memory.New()
		app, _ := run(t, w, long, schedule.Set("set", 1, schedule.New("half", long, 45, schedule.Times("@every 30m"), schedule.Overlap(schedule.Allow))))
		live, err := long.Start(t.Context(), app, 100)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(31 * time.Minute)
		last := stands(t, app, "half").Is.Last
		if last == nil || last.Merged != live.ID() || last.Run == live.ID() {
			t.Errorf("last start: %+v, want that it was merged into run %s", last, live.ID())
		}
		if id, err := schedule.Trigger(t.Context(), app, "half"); err != nil || id != live.ID() {
			t.Errorf("a trigger: run %s, %v; want %s", id, err, live.ID())
		}
		now := time.Now()
		if started, err := schedule.Backfill(t.Context(), app, "half", now.Add(-2*time.Hour), now.Add(-time.Hour)); err != nil || len(started) != 0 {
			t.Errorf("a backfill started %q, %v", started, err)
		}
		<-time.After(100 * time.Minute)
		if last := stands(t, app, "half").Is.Last; last.Merged != "" {
			t.Errorf("last start: %+v, want a run of its own", last)
		}
	})
}
