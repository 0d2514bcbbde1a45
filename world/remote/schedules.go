package remote

// This file has schedules, holds and limits.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Schedules returns the schedules of the server's database; see [world.ScheduleKeeper].
func (w *World) Schedules() world.Scheduler { return schedules{w} }

// schedules are the schedules of a server's database.
type schedules struct{ w *World }

// Schedules are pages of schedules; see [world.Scheduler].
func (k schedules) Schedules(ctx context.Context, q world.ScheduleQuery) ([]world.Schedule, error) {
	if err := world.CheckScheduleQuery(&q); err != nil {
		return nil, err
	}
	return call(ctx, k.w, wire.Schedules, q)
}

// DueSchedules tells what is due; see [world.Scheduler].
func (k schedules) DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (world.DueSchedules, error) {
	if err := world.CheckDueSchedules(limit); err != nil {
		return world.DueSchedules{}, err
	}
	return call(ctx, k.w, wire.DueSchedules, wire.DueSchedulesIn{Code: code, Limit: limit, Hold: hold})
}

// PutSchedule writes a row; see [world.Scheduler]. It is sent again where the answer was lost: a second one finds
// the row changed, and whoever put it reads it again.
func (k schedules) PutSchedule(ctx context.Context, s world.Schedule) (bool, error) {
	if err := world.CheckSchedule(&s); err != nil {
		return false, err
	}
	return call(ctx, k.w, wire.PutSchedule, s)
}

// DeleteSchedule deletes a row; see [world.Scheduler].
func (k schedules) DeleteSchedule(ctx context.Context, name string) error {
	if world.CheckScheduleName("", name) != nil {
		return world.NoSchedule(name)
	}
	return act(ctx, k.w, wire.DeleteSchedule, wire.ScheduleName{Name: name})
}

// Starts returns the holds of the server's database; see [world.StartKeeper].
func (w *World) Starts() world.Starter { return starts{w} }

// starts are those of a server's database.
type starts struct{ w *World }

// Hold holds a workflow; see [world.Starter].
func (s starts) Hold(ctx context.Context, h world.Hold) error {
	if err := world.CheckHold(&h); err != nil {
		return err
	}
	return act(ctx, s.w, wire.Hold, h)
}

// Release has the runs of a workflow begin again; see [world.Starter].
func (s starts) Release(ctx context.Context, workflow string) error {
	if world.CheckWorkflowName(workflow) != nil {
		return nil // it is not held
	}
	return act(ctx, s.w, wire.Release, wire.WorkflowName{Workflow: workflow})
}

// Holds are the workflows that are held; see [world.Starter].
func (s starts) Holds(ctx context.Context) ([]world.Hold, error) {
	return call(ctx, s.w, wire.Holds, wire.Nothing{})
}

// Settle is the server's own; see [world.Starter].
func (s starts) Settle(context.Context) (time.Duration, error) { return 0, nil }

// Lapsing is the server's own too; see [world.Starter].
func (s starts) Lapsing(context.Context) (world.Lapsing, error) { return world.Lapsing{}, nil }

// Limits returns the limits of the server's database; see [world.LimitKeeper]. If the database
// keeps none, starts of runs with limits are refused.
func (w *World) Limits() world.Limiter { return limits{w} }

// limits are the limits of a server's database.
type limits struct{ w *World }

// ListLimits tells of all limits; see [world.Limiter].
func (k limits) ListLimits(ctx context.Context) ([]world.Limit, error) {
	return call(ctx, k.w, wire.ListLimits, wire.Nothing{})
}

// SetLimit changes a number; see [world.Limiter].
func (k limits) SetLimit(ctx context.Context, name string, number *int) error {
	if number != nil {
		if err := world.CheckLimit(name, *number); err != nil {
			return err
		}
	}
	return act(ctx, k.w, wire.SetLimit, wire.SetLimitIn{Limit: name, Number: number})
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (k limits) ListLimitKeys(ctx context.Context, limit, behind string, most int) ([]world.LimitKey, error) {
	return call(ctx, k.w, wire.ListLimitKeys, wire.LimitKeysIn{Limit: limit, After: behind, Most: most})
}

// ListHolders tells what holds places of a key; see [world.Limiter].
func (k limits) ListHolders(ctx context.Context, limit, key string, most int) ([]world.LimitHolder, error) {
	return call(ctx, k.w, wire.ListHolders, wire.HoldersIn{Limit: limit, Key: key, Most: most})
}

// InLine tells where a run stands; see [world.Limiter].
func (k limits) InLine(ctx context.Context, run, step string) (*world.InLine, error) {
	out, err := call(ctx, k.w, wire.InLine, wire.InLineIn{RunID: wire.RunID{Run: run}, Step: step})
	return out.InLine, err
}
