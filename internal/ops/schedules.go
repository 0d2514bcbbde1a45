package ops

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// shownTimes is how many next times are shown.
const shownTimes = 10

// ScheduleOf returns a schedule as the API shows it.
func ScheduleOf(s *world.Schedule) api.Schedule {
	x, is := &s.Says, &s.Is
	out := api.Schedule{
		Name: s.Name, Workflow: x.Workflow, Version: x.Version, Times: x.Times, Zone: x.Zone, From: x.From, Until: x.Until, Runs: x.Runs,
		CatchUp: human.SpanText(cmp.Or(x.CatchUp, world.DefaultCatchUp)), Overlap: cmp.Or(x.Overlap, world.OverlapSkip), PauseOnFailure: x.PauseOnFailure,
		Input: x.Input, Sealed: x.Encrypted, Code: x.Code, Set: s.Set, Revision: s.Revision, By: s.Made.By, Waits: is.Waits, Last: is.Last,
		Completed: is.Done, Count: is.Count, Skipped: is.Skipped, Missed: is.Missed, Passed: is.Passed, Error: is.Error, Damage: s.Damage,
	}
	if out.Times == nil {
		out.Times = []string{} // of a damaged schedule
	}
	if x.Jitter > 0 {
		out.Jitter = human.SpanText(x.Jitter)
	}
	if x.Encrypted != "" {
		out.Input = nil
	}
	if p := s.Paused; p != nil {
		out.Paused = &api.QueuePause{By: p.By, Reason: p.Reason, Since: p.Since}
	}
	if s.Damage != "" {
		return out
	}
	t, err := timetable.Parse(s.Name, x)
	if err != nil {
		out.Words = err.Error()
		return out
	}
	out.Words = t.Words()
	if s.Paused == nil && !is.Next.IsZero() {
		n := shownTimes
		if x.Runs > 0 {
			n = min(n, x.Runs-is.Count)
		}
		out.Next = t.Some(is.Next.Add(-1), n)
	}
	return out
}

// ListSchedules returns a page of schedules, by name.
func (o *Ops) ListSchedules(ctx context.Context, in api.ListSchedules) (out api.SchedulePage, err error) {
	limit, err := size(api.ListSchedulesOp.Row, in.Limit)
	if err != nil {
		return out, err
	}
	page, err := o.times.Store.Schedules(ctx, world.ScheduleQuery{After: in.Cursor, Limit: limit})
	out.Schedules = make([]api.Schedule, len(page))
	for i := range page {
		out.Schedules[i] = ScheduleOf(&page[i])
	}
	if len(page) == limit {
		out.Cursor = page[len(page)-1].Name
	}
	return out, err
}

// scheduleAfter does an act on a schedule, and returns the schedule.
func scheduleAfter(name string, act func() (*world.Schedule, error)) (out api.Schedule, err error) {
	if err := world.CheckScheduleName("schedule", name); err != nil {
		return out, err
	}
	is, err := act()
	if err != nil {
		return out, err
	}
	return ScheduleOf(is), nil
}

// GetSchedule returns one schedule.
func (o *Ops) GetSchedule(ctx context.Context, in api.GetSchedule) (api.Schedule, error) {
	return scheduleAfter(in.Schedule, func() (*world.Schedule, error) { return timetable.Find(ctx, o.times.Store, in.Schedule) })
}

// PutSchedule creates a schedule, or changes its settings.
func (o *Ops) PutSchedule(ctx context.Context, in api.PutSchedule) (api.Schedule, error) {
	s := world.Schedule{Name: in.Schedule, Made: world.Provenance{By: acting.Who(ctx), At: o.opt.Now()}, Says: world.ScheduleSpec{
		Workflow: in.Workflow, Version: in.Version, Times: in.Times, Zone: in.Zone, From: in.From.UTC(), Until: in.Until.UTC(), Runs: in.Runs,
		Jitter: time.Duration(in.Jitter), CatchUp: time.Duration(in.CatchUp), Overlap: in.Overlap, PauseOnFailure: in.PauseOnFailure,
	}}
	if !bytes.Equal(in.Input, []byte("null")) {
		s.Says.Input = in.Input
	}
	return scheduleAfter(in.Schedule, func() (*world.Schedule, error) { return timetable.Put(ctx, o.times.Store, s) })
}

// DeleteSchedule deletes a schedule. Its runs stay.
func (o *Ops) DeleteSchedule(ctx context.Context, in api.DeleteSchedule) (out api.None, err error) {
	if err := world.CheckScheduleName("schedule", in.Schedule); err != nil {
		return out, err
	}
	return out, o.times.Store.DeleteSchedule(ctx, in.Schedule)
}

// PauseSchedule stops a schedule.
func (o *Ops) PauseSchedule(ctx context.Context, in api.PauseSchedule) (api.Schedule, error) {
	return scheduleAfter(in.Schedule, func() (*world.Schedule, error) {
		return timetable.Pause(ctx, o.times.Store, in.Schedule, acting.Who(ctx), in.Reason)
	})
}

// ResumeSchedule resumes a schedule from its next time.
func (o *Ops) ResumeSchedule(ctx context.Context, in api.ResumeSchedule) (api.Schedule, error) {
	return scheduleAfter(in.Schedule, func() (*world.Schedule, error) { return timetable.Resume(ctx, o.times.Store, in.Schedule) })
}

// TriggerSchedule starts one run of a schedule now.
func (o *Ops) TriggerSchedule(ctx context.Context, in api.TriggerSchedule) (out api.TriggeredSchedule, err error) {
	if err := world.CheckScheduleName("schedule", in.Schedule); err != nil {
		return out, err
	}
	out.Run, err = o.times.Trigger(ctx, in.Schedule, in.Input)
	return out, err
}

// BackfillSchedule starts the runs of past times that have none.
func (o *Ops) BackfillSchedule(ctx context.Context, in api.BackfillSchedule) (out api.BackfilledSchedule, err error) {
	if err := world.CheckScheduleName("schedule", in.Schedule); err != nil {
		return out, err
	}
	done, err := o.times.Backfill(ctx, in.Schedule, in.From, in.Until)
	return api.BackfilledSchedule{Started: append([]string{}, done.Started...), Existed: append([]string{}, done.Existed...)}, err
}
