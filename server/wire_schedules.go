package server

// This file has the doors to schedules for remote workers and clients: inputs go as they lie there.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireScheduleRoutes() []route {
	return []route{
		actRoute("schedule", Operator, "Change a schedule as a whole, or delete it", "WireScheduleAct", "WireScheduleActed", wireSchedule),
		wireRoute("schedules", Viewer, "Tell of schedules, or of those that are due", "WireScheduleQuery", "WireSchedules", wireSchedules),
	}
}

// schedulesBelow are the schedules as they lie there.
func schedulesBelow(d *doors, r *request) (world.Scheduler, error) {
	if r.limited() != nil {
		return nil, errLimitedSchedules
	}
	return d.below.Schedules(), nil
}

var errLimitedSchedules = fmt.Errorf("%w: it is limited to some workflows and steps, and schedules are everybody's", errScope)

func wireSchedule(d *doors, r *request, in *wire.ScheduleAct) (out wire.ScheduleActed, err error) {
	k, err := schedulesBelow(d, r)
	if err != nil {
		return out, err
	}
	name, act := in.Delete, "delete"
	switch {
	case in.Put != nil:
		name, act = in.Put.Name, "put"
		if err := timetable.Check(in.Put.World()); err != nil {
			return out, err
		}
	case in.Delete == "":
		return out, invalid("body: nothing is asked for")
	}
	people := r.people()
	if people && in.Put != nil && r.sees(Worker) {
		people = !goesOn(r.Context(), k, in.Put.World())
	}
	if in.Put != nil {
		if err := signSchedule(r, k, &in.Put.Schedule); err != nil {
			return out, err
		}
	}
	out, err = lasting(r.Context(), func(ctx context.Context) (out wire.ScheduleActed, err error) {
		if in.Put == nil {
			return out, k.DeleteSchedule(ctx, name)
		}
		out.Put, err = k.PutSchedule(ctx, *in.Put.World())
		return out, err
	})
	if people {
		r.SetPathValue("schedule", name)
		reason := ""
		if in.Put != nil && in.Put.Paused != nil {
			reason = in.Put.Paused.Reason
		}
		d.audit.note(r.Request, r.name(), r.route.op.id, "", act, err, because(reason)...)
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

func wireSchedules(d *doors, r *request, in *wire.ScheduleQuery) (out wire.Schedules, err error) {
	k, err := schedulesBelow(d, r)
	if err != nil {
		return out, err
	}
	if in.Due == 0 {
		all, err := k.Schedules(r.Context(), world.ScheduleQuery{Names: in.Names, Set: in.Set, After: in.After, Limit: in.Limit})
		return wire.Schedules{Schedules: wire.OfSchedules(all)}, err
	}
	if err := needs(r, Worker, "to work on what is due"); err != nil { // it is kept from others meanwhile
		return wire.Schedules{}, err
	}
	due, err := k.DueSchedules(r.Context(), in.Code, in.Due, min(max(in.Hold, 0), time.Minute))
	return wire.Schedules{Schedules: wire.OfSchedules(due.Schedules), More: due.More, Next: due.Next, Now: due.Now}, err
}
