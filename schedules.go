package stepwell

// What an App does for schedules while it runs: see package schedule.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// timetableOf has runs started when they are due.
func timetableOf(a *App) *timetable.Keeper {
	k := &timetable.Keeper{
		Store: a.world.Schedules(), Notifier: a.world, Log: a.cfg.Logger, Poll: a.cfg.Poll, Inputs: map[string]map[string]timetable.Input{},
		Start:  func(ctx context.Context, f *timetable.Firing) (string, bool, error) { return startScheduled(ctx, a, f) },
		Cancel: a.Cancel,
		Beside: func(ctx context.Context) time.Duration { return lookAfterStarts(ctx, a) },
		Last:   func(ctx context.Context, run string) (timetable.LastRun, error) { return lastScheduled(ctx, a, run) },
	}
	for _, p := range a.parts {
		if len(p.Inputs) > 0 {
			k.Inputs[p.Set] = p.Inputs
		}
	}
	return k
}

// startScheduled starts the run of a time, together with the change of its schedule.
func startScheduled(ctx context.Context, a *App, f *timetable.Firing) (id string, existed bool, err error) {
	attributes := map[string]any{world.AttributeSchedule: f.Schedule.Name, world.AttributeScheduleTime: f.At.UTC().Format(time.RFC3339)}
	if !f.Previous.IsZero() {
		attributes[world.AttributeSchedulePrevious] = f.Previous.UTC().Format(time.RFC3339)
	}
	opts := []StartOption{RunID(f.ID), Key(f.ID), Version(f.Schedule.Says.Version), Attributes(attributes)}
	if !f.Beside {
		opts = append(opts, scheduleOption{&f.Schedule})
	}
	run, err := a.Start(ctx, f.Schedule.Says.Workflow, f.Input, opts...)
	if err != nil {
		return "", false, err
	}
	return run.ID(), run.existed, nil
}

// lastScheduled is how the last run of a schedule stands. Where it did not complete that is the newest run that was
// made of it, by a retry, a restart or a fork: it is about the same time.
func lastScheduled(ctx context.Context, a *App, run string) (timetable.LastRun, error) {
	last, err := a.world.Run(ctx, run)
	for err == nil && last.Status.Terminal() && last.Status != world.Completed {
		made, look := a.world.Runs(ctx, world.RunQuery{Origin: last.ID, Limit: 1})
		if look != nil {
			return timetable.LastRun{}, fmt.Errorf("find the runs made from run %s: %w", last.ID, look)
		}
		if len(made.Runs) == 0 {
			break
		}
		last = made.Runs[0]
	}
	if errors.Is(err, ErrNotFound) {
		return timetable.LastRun{Gone: true, Over: true}, nil
	}
	if err != nil {
		return timetable.LastRun{}, fmt.Errorf("the last run: %w", err)
	}
	return timetable.LastRun{
		Run: last.ID, Kept: fromLog(last.Retention),
		Over: last.Status.Terminal(), Completed: last.Status == world.Completed, Failed: last.Status == world.Failed,
	}, nil
}
