package server

// This file has schedules and holds for remote workers and clients.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

var errLimitedSchedules = fmt.Errorf("%w: it is limited to some workflows and steps, and schedules are everybody's", errScope)

func (d *doors) putSchedule(r *request, s *world.Schedule) (written bool, err error) {
	k, err := schedulerOf(d)
	if err == nil {
		err = timetable.Check(s)
	}
	if err != nil {
		return false, err
	}
	people := r.people() && !(r.sees(Worker) && goesOn(r.Context(), k, s))
	if err := signSchedule(r, k, s); err != nil {
		return false, err
	}
	written, err = lasting(r.Context(), func(ctx context.Context) (bool, error) { return k.PutSchedule(ctx, *s) })
	if people {
		reason := ""
		if s.Paused != nil {
			reason = s.Paused.Reason
		}
		d.note(r, "schedule", s.Name, "put", reason, err)
	}
	return written, err
}

func (d *doors) deleteSchedule(r *request, in *wire.ScheduleName) (wire.Nothing, error) {
	k, err := schedulerOf(d)
	if err != nil {
		return done(err)
	}
	out, err := lasting(r.Context(), func(ctx context.Context) (wire.Nothing, error) { return done(k.DeleteSchedule(ctx, in.Name)) })
	if r.people() {
		d.note(r, "schedule", in.Name, "delete", "", err)
	}
	return out, err
}

// signSchedule puts the name of the key where a schedule says anew who made or paused it. Below a worker nobody says
// which program's set it is of.
func signSchedule(r *request, k world.Scheduler, s *world.Schedule) error {
	if r.key == nil {
		return nil
	}
	before, err := timetable.Find(r.Context(), k, s.Name)
	if errors.Is(err, world.ErrNotFound) {
		before, err = new(world.Schedule), nil
	}
	if err != nil {
		return err
	}
	if s.Made.By != before.Made.By || !s.Made.At.Equal(before.Made.At) {
		s.Made.By = r.maker(s.Made.By)
	}
	if p, was := s.Paused, before.Paused; p != nil && (was == nil || p.By != was.By || p.Reason != was.Reason || !p.Since.Equal(was.Since)) {
		own := *p
		own.By = r.maker(p.By)
		s.Paused = &own
	}
	if s.Set != before.Set || s.Revision != before.Revision {
		return needs(r, Worker, "to say which program's set a schedule is of")
	}
	return nil
}

// goesOn reports whether a schedule is put that stands as people said: who works on what is due does that all the time.
func goesOn(ctx context.Context, k world.Scheduler, s *world.Schedule) bool {
	before, err := timetable.Find(ctx, k, s.Name)
	if err != nil || s.Paused != nil && s.Paused.By != "stepwell" || s.Paused == nil && before.Paused != nil {
		return false
	}
	was, err := json.Marshal(before.Says)
	is, bad := json.Marshal(s.Says)
	return err == nil && bad == nil && bytes.Equal(was, is)
}

func wireDueSchedules(k world.Scheduler, ctx context.Context, in wire.DueSchedulesIn) (world.DueSchedules, error) {
	return k.DueSchedules(ctx, in.Code, in.Limit, min(max(in.Hold, 0), time.Minute))
}

func (d *doors) hold(r *request, in *world.Hold) (wire.Nothing, error) {
	return d.changeHold(r, in.Workflow, "hold", in.Note, func(ctx context.Context, k world.Starter) error {
		return k.Hold(ctx, world.Hold{Workflow: in.Workflow, By: cmp.Or(acting.Who(r.Context()), in.By), Note: in.Note})
	})
}

func (d *doors) release(r *request, in *wire.WorkflowName) (wire.Nothing, error) {
	return d.changeHold(r, in.Workflow, "release", "", func(ctx context.Context, k world.Starter) error {
		return k.Release(ctx, in.Workflow)
	})
}

func (d *doors) changeHold(r *request, workflow, act, note string, change func(ctx context.Context, k world.Starter) error) (wire.Nothing, error) {
	k, err := startsOf(d)
	if err == nil {
		err = world.CheckWorkflowName(workflow)
	}
	if err != nil {
		return done(err)
	}
	out, err := lasting(r.Context(), func(ctx context.Context) (wire.Nothing, error) { return done(change(ctx, k)) })
	d.note(r, "workflow", workflow, act, note, err)
	return out, err
}

// holds leaves out what a key that is limited may not have.
func (d *doors) holds(r *request, _ *wire.Nothing) ([]world.Hold, error) {
	k, err := startsOf(d)
	if err != nil {
		return nil, err
	}
	all, err := k.Holds(r.Context())
	return slices.DeleteFunc(all, func(h world.Hold) bool { return r.mayWorkflow(h.Workflow) != nil }), err
}
