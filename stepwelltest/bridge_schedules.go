package stepwelltest

// This file has schedules go over the bridge.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// bridgedSchedules are the schedules of the world below.
type bridgedSchedules struct {
	w *bridged
	k world.Scheduler
}

// Schedules are the schedules; see [world.ScheduleKeeper]. They are the same ones each time, to who compares.
func (w *bridged) Schedules() world.Scheduler {
	return bridgedSchedules{w, w.able.ScheduleKeeper.Schedules()}
}

func (s bridgedSchedules) Schedules(ctx context.Context, q world.ScheduleQuery) ([]world.Schedule, error) {
	return outside(ctx, s.w.b, func(ctx context.Context) ([]world.Schedule, error) { return s.k.Schedules(ctx, q) })
}

func (s bridgedSchedules) DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (world.DueSchedules, error) {
	return outside(ctx, s.w.b, func(ctx context.Context) (world.DueSchedules, error) { return s.k.DueSchedules(ctx, code, limit, hold) })
}

func (s bridgedSchedules) PutSchedule(ctx context.Context, put world.Schedule) (bool, error) {
	return change(ctx, s.w, func(ctx context.Context) (bool, error) { return s.k.PutSchedule(ctx, put) })
}

func (s bridgedSchedules) DeleteSchedule(ctx context.Context, name string) error {
	_, err := change(ctx, s.w, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.k.DeleteSchedule(ctx, name) })
	return err
}
