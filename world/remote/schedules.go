package remote

// This file has schedules.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Schedules returns the schedules of the server's database; see [world.World]. With an
// older server its methods return [world.ErrInvalid].
func (w *World) Schedules() world.Scheduler { return schedules{w} }

// schedules are the schedules of a server's database.
type schedules struct{ w *World }

func (k schedules) read(ctx context.Context, q *wire.ScheduleQuery) (out wire.Schedules, err error) {
	err = k.w.ask(ctx, manner{twice: true, long: true}, "schedules", q, &out)
	return out, err
}

// Schedules are pages of schedules; see [world.Scheduler].
func (k schedules) Schedules(ctx context.Context, q world.ScheduleQuery) ([]world.Schedule, error) {
	if err := world.CheckScheduleQuery(&q); err != nil {
		return nil, err
	}
	if q.Names != nil && len(q.Names) == 0 {
		return nil, nil
	}
	out, err := k.read(ctx, &wire.ScheduleQuery{Names: q.Names, Set: q.Set, After: q.After, Limit: q.Limit})
	return wire.WorldSchedules(out.Schedules), err
}

// DueSchedules tells what is due; see [world.Scheduler].
func (k schedules) DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (world.DueSchedules, error) {
	if err := world.CheckDueSchedules(limit); err != nil {
		return world.DueSchedules{}, err
	}
	out, err := k.read(ctx, &wire.ScheduleQuery{Due: limit, Code: code, Hold: hold})
	return world.DueSchedules{Schedules: wire.WorldSchedules(out.Schedules), More: out.More, Next: out.Next, Now: out.Now}, err
}

// PutSchedule writes a row; see [world.Scheduler]. It is sent again where the answer was lost: a second one finds
// the row changed, and whoever put it reads it again.
func (k schedules) PutSchedule(ctx context.Context, s world.Schedule) (bool, error) {
	if err := world.CheckSchedule(&s); err != nil {
		return false, err
	}
	var out wire.ScheduleActed
	err := k.w.ask(ctx, manner{twice: true}, "schedule", &wire.ScheduleAct{Put: wire.OfSchedule(&s)}, &out)
	return out.Put, err
}

// DeleteSchedule deletes a row; see [world.Scheduler].
func (k schedules) DeleteSchedule(ctx context.Context, name string) error {
	if world.CheckScheduleName("", name) != nil {
		return world.NoSchedule(name)
	}
	return k.w.ask(ctx, manner{once: true}, "schedule", &wire.ScheduleAct{Delete: name}, &wire.ScheduleActed{})
}
