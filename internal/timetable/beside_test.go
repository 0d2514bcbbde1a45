package timetable

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Schedules do not wait for what is looked after beside them, however long that takes.
func TestSchedulesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer func() { _ = w.Close() }()
		store := &countsLooks{Scheduler: w.Schedules()}
		beside := 0
		k := &Keeper{Store: store, Notifier: world.Unimplemented{}, Log: slog.New(slog.DiscardHandler), Poll: time.Second, Beside: func(ctx context.Context) time.Duration {
			beside++
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return time.Second
		}}
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Second)
		defer stop()
		k.Run(ctx)
		if store.looks < 140 || beside != 3 {
			t.Errorf("%d looks at schedules and %d beside, want one a second and 3", store.looks, beside)
		}
	})
}

// countsLooks counts looks for what is due.
type countsLooks struct {
	world.Scheduler
	looks int
}

func (s *countsLooks) DueSchedules(ctx context.Context, code string, most int, hold time.Duration) (world.DueSchedules, error) {
	s.looks++
	return s.Scheduler.DueSchedules(ctx, code, most, hold)
}
