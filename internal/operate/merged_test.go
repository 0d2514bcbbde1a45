package operate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestMergedStarts: a time whose start is merged into the live run of a singleton is done, and says into which run; so
// does a trigger.
func TestMergedStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := stepwell.Define("long", func(ctx stepwell.Context, minutes int) (int, error) {
			return minutes, stepwell.Sleep(ctx, "work", time.Duration(minutes)*time.Minute)
		}, stepwell.Singleton{})
		w := memory.New()
		half := schedule.New("half", long, 45, schedule.Times("@every 30m"), schedule.Overlap(schedule.Allow))
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{long, schedule.Set("set", 1, half)}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		last := func() *world.ScheduledRun {
			all, err := schedule.List(ctx, app, "", 10)
			if err != nil || len(all) != 1 || all[0].Is.Last == nil {
				t.Fatalf("schedules: %+v, %v", all, err)
			}
			return all[0].Is.Last
		}
		synctest.Wait()
		live, err := long.Start(t.Context(), app, 100)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(31 * time.Minute)
		if is := last(); is.Merged != live.ID() || is.Run == live.ID() {
			t.Errorf("last start: %+v, want that it was merged into run %s", is, live.ID())
		}
		if id, err := schedule.Trigger(t.Context(), app, "half"); err != nil || id != live.ID() {
			t.Errorf("a trigger: run %s, %v; want %s", id, err, live.ID())
		}
		now := time.Now()
		if started, err := schedule.Backfill(t.Context(), app, "half", now.Add(-2*time.Hour), now.Add(-time.Hour)); err != nil || len(started) != 0 {
			t.Errorf("a backfill started %q, %v", started, err)
		}
		<-time.After(100 * time.Minute)
		if is := last(); is.Merged != "" {
			t.Errorf("last start: %+v, want a run of its own", is)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
