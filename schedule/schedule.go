package schedule

// This file says when runs start.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// Schedule says when runs of a workflow start. A program declares it in a [Set], or creates it with
// [Put].
type Schedule struct {
	is    world.Schedule
	input timetable.Input // computes it; nil: it is said
	fault error
}

// Option is an option of a schedule: [Times], [Zone], [From], [Until], [Runs], [Jitter], [CatchUp],
// [Overlap], [PauseOnFailure].
type Option func(*Schedule)

// Times are the times at which runs start, as one or more expressions:
//
//   - cron expressions of 5 or 6 fields, with names of days and months, L, W and #; the first of 6
//     fields is seconds
//   - @hourly, @daily, @weekly, @monthly, @yearly
//   - @every 6h, counted from 1970 in UTC, and @every 6h+15m, with an offset
//   - single times: @at 2026-12-24T18:00:00+01:00
//
// A schedule needs at least one. An expression without any time is refused.
func Times(expressions ...string) Option {
	return func(s *Schedule) { s.is.Says.Times = append(s.is.Says.Times, expressions...) }
}

// Zone is the IANA name of the expressions' time zone, such as Europe/Berlin. Default UTC.
// Expressions that name hours follow the local clock: a local time that a clock change skips means
// the moment of the change, and a local time that occurs twice means the first. Expressions for
// every hour follow elapsed time.
func Zone(name string) Option { return func(s *Schedule) { s.is.Says.Zone = name } }

// From is the earliest time at which a run may start, included.
func From(t time.Time) Option {
	return func(s *Schedule) { s.is.Says.From = t.UTC().Truncate(time.Second) }
}

// Until is the latest time at which a run may start, included. A run that [Jitter] would delay
// beyond it starts then.
func Until(t time.Time) Option {
	return func(s *Schedule) { s.is.Says.Until = t.UTC().Truncate(time.Second) }
}

// Runs limits how many runs start. By default there is no limit.
func Runs(n int) Option { return func(s *Schedule) { s.is.Says.Runs = n } }

// Jitter delays each run by up to most. The delay is a hash of name and time, so it spreads
// schedules with the same times, and is the same whenever it is computed.
func Jitter(most time.Duration) Option { return func(s *Schedule) { s.is.Says.Jitter = most } }

// CatchUp is how old a missed time may be and still start its run, after all programs were down.
// Default one day. Older times are counted as missed.
func CatchUp(window time.Duration) Option { return func(s *Schedule) { s.is.Says.CatchUp = window } }

// Overlap says what happens at a time if the schedule's last run is not over. Default [Skip].
func Overlap(o world.Overlap) Option { return func(s *Schedule) { s.is.Says.Overlap = o } }

// Values of [Overlap]: what happens at a time if the schedule's last run is not over.
const (
	Skip = world.OverlapSkip // no run starts
	// QueueOne: a run starts after that run's end; further times meanwhile start none.
	QueueOne = world.OverlapQueueOne
	// QueueAll: a run starts after that run's end, and so do all further times, in order.
	QueueAll = world.OverlapQueueAll
	Cancel   = world.OverlapCancel // that run is cancelled, and then the newest time's run starts
	Allow    = world.OverlapAllow  // a run starts beside it
)

// PauseOnFailure pauses the schedule at its next time if its last run failed.
func PauseOnFailure() Option { return func(s *Schedule) { s.is.Says.PauseOnFailure = true } }

// New returns a schedule of a workflow whose runs all have the same input.
func New[In, Out any](name string, w *stepwell.Workflow[In, Out], input In, opts ...Option) *Schedule {
	s := &Schedule{}
	s.is.Says.Input, s.fault = codec.Encode(input, codec.DefaultLimit)
	return build(s, name, w, opts)
}

// Computed returns a schedule whose inputs a function computes, from the run's scheduled time and
// the last earlier time whose run completed (zero: none). The function is called before each start,
// perhaps more than once. Only a program with the schedule in a [Set] starts its runs.
func Computed[In, Out any](name string, w *stepwell.Workflow[In, Out], input func(at, previous time.Time) In, opts ...Option) *Schedule {
	s := &Schedule{}
	s.is.Says.Code = true
	if input == nil {
		s.fault = kit.Missing("the function of the input")
	} else {
		s.input = func(at, previous time.Time) ([]byte, error) {
			return codec.Encode(input(at, previous), codec.DefaultLimit)
		}
	}
	return build(s, name, w, opts)
}

func build[In, Out any](s *Schedule, name string, w *stepwell.Workflow[In, Out], opts []Option) *Schedule {
	s.is.Name = name
	if w == nil {
		s.fault = cmp.Or(s.fault, kit.Missing("the workflow"))
	} else {
		s.is.Says.Workflow = w.Name()
	}
	s.fault = cmp.Or(kit.Given(opts, func(o Option) { o(s) }), s.fault)
	checked := s.is
	checked.Set = "set" // it is in one, or Put refuses it
	if s.fault != nil {
		s.fault = fmt.Errorf("schedule %.140s: %w", name, s.fault)
	}
	s.fault = cmp.Or(s.fault, timetable.Check(&checked))
	return s
}

// Name returns the schedule's name.
func (s *Schedule) Name() string { return s.is.Name }

// Next returns the first n times after a given time.
func (s *Schedule) Next(after time.Time, n int) []time.Time {
	t, err := timetable.Parse(s.is.Name, &s.is.Says)
	if err != nil || s.fault != nil {
		return nil
	}
	return t.Some(after, n)
}

// Set returns a definition that declares schedules. When an App that has it begins to run, it
// creates or updates them in the database. Schedules that the set had earlier and no longer has are
// paused with a note, not deleted.
//
// Raise the revision with each change. A program with a lower revision than the database's changes
// nothing, so an older deploy does not undo the change.
func Set(name string, revision int, all ...*Schedule) stepwell.Definition {
	set := timetable.Set{Name: name, Revision: revision}
	inputs := map[string]timetable.Input{}
	var faults []error
	if revision < 0 {
		faults = append(faults, fmt.Errorf("%w: revision %d: want 0 or more", world.ErrInvalid, revision))
	}
	faults = append(faults, world.CheckScheduleName("set", name))
	seen := map[string]bool{}
	for _, s := range all {
		if s == nil {
			faults = append(faults, kit.Missing("a schedule"))
			continue
		}
		if faults = append(faults, s.fault); seen[s.is.Name] {
			faults = append(faults, fmt.Errorf("%w: schedule %s is there twice", world.ErrInvalid, s.is.Name))
		}
		seen[s.is.Name] = true
		set.All = append(set.All, s.is)
		if s.input != nil {
			inputs[s.is.Name] = s.input
		}
	}
	fault := errors.Join(faults...)
	if fault != nil {
		fault = fmt.Errorf("set %.140s of schedules: %w", name, fault)
	}
	return kit.NewPart(kit.Part{
		Fault: fault, Alone: "the set of schedules " + name, Set: name, Inputs: inputs,
		Run: func(ctx context.Context, room kit.App) {
			kit.Stand(ctx, room.Logger.With("set", name), "a set of schedules", "Raise its revision if this program is the newer one, or rename the schedules that belong to others", func() error {
				return timetable.Declare(ctx, room.Timetable.Store, set)
			})
		},
	}).(stepwell.Definition)
}

func open(doing string, app *stepwell.App) (*timetable.Keeper, error) {
	if app == nil {
		return nil, fmt.Errorf("%s: %w", doing, kit.Missing("the App"))
	}
	return kit.AppOf(app).Timetable, nil
}

// Put creates a schedule now, or updates the one with its name. Use it for schedules outside a
// [Set]. by names who asked for it. Changed times apply from now on: runs that were due under the
// old times and have not started count as skipped.
//
// Errors: [world.ErrConflict] if a program declares the schedule, [world.ErrInvalid] if all its
// times are past.
func Put(ctx context.Context, app *stepwell.App, s *Schedule, by string) error {
	k, err := open("put schedule", app)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("put schedule: %w", kit.Missing("the schedule"))
	}
	if s.fault != nil {
		return s.fault
	}
	is := s.is
	is.Made = world.Provenance{By: by, At: world.Now()}
	_, err = timetable.Put(ctx, k.Store, is)
	return err
}

// Pause stops a schedule from starting runs until [Resume]. It records who asked for it, and why.
func Pause(ctx context.Context, app *stepwell.App, name, by, reason string) error {
	k, err := open("pause schedule", app)
	if err == nil {
		_, err = timetable.Pause(ctx, k.Store, name, by, reason)
	}
	return err
}

// Resume continues a schedule with its next time from now. [Backfill] starts runs of times that
// were missed.
func Resume(ctx context.Context, app *stepwell.App, name string) error {
	k, err := open("resume schedule", app)
	if err == nil {
		_, err = timetable.Resume(ctx, k.Store, name)
	}
	return err
}

// Delete deletes a schedule. Its runs stay. A schedule that a program declares is created again
// when the program starts.
func Delete(ctx context.Context, app *stepwell.App, name string) error {
	k, err := open("delete schedule", app)
	if err != nil {
		return err
	}
	return k.Store.DeleteSchedule(ctx, name)
}

// Trigger starts one run of a schedule now, regardless of its times and its [Overlap], and returns
// the run's ID. A [Computed] schedule needs an App that has its [Set].
func Trigger(ctx context.Context, app *stepwell.App, name string) (run string, err error) {
	k, err := open("trigger schedule", app)
	if err != nil {
		return "", err
	}
	return k.Trigger(ctx, name, nil)
}

// Backfill starts the missing runs of the past times between from and until, both included, at most
// 1,000. It returns the IDs of those that it started. A [Computed] schedule needs an App that has
// its [Set].
func Backfill(ctx context.Context, app *stepwell.App, name string, from, until time.Time) (runs []string, err error) {
	k, err := open("backfill schedule", app)
	if err != nil {
		return nil, err
	}
	done, err := k.Backfill(ctx, name, from, until)
	return done.Started, err
}

// List returns a page of schedules by name, after the given name: at most limit, which is 1 to
// 1,000, or 0 for 100.
func List(ctx context.Context, app *stepwell.App, behind string, limit int) ([]world.Schedule, error) {
	k, err := open("list schedules", app)
	if err != nil {
		return nil, err
	}
	return k.Store.Schedules(ctx, world.ScheduleQuery{After: behind, Limit: limit})
}

// Fire says which schedule started a run, and for which time.
type Fire struct {
	Name string    // name of the schedule
	At   time.Time // the scheduled time, or the time of a [Trigger]
	// Previous is the last earlier time whose run had completed when this run started. Zero: none.
	Previous time.Time
}

// Of returns the schedule and the time that started the run, in workflow code. scheduled is false
// if no schedule did. The result is the same on replay.
func Of(ctx stepwell.Context) (f Fire, scheduled bool) {
	text := func(name string) (s string) {
		_ = json.Unmarshal(kit.Started(ctx, name), &s) // what is no text is none
		return s
	}
	f.Name = text(world.AttributeSchedule)
	f.At, _ = time.Parse(time.RFC3339, text(world.AttributeScheduleTime))
	f.Previous, _ = time.Parse(time.RFC3339, text(world.AttributeSchedulePrevious))
	return f, f.Name != "" && !f.At.IsZero()
}
