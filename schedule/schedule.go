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

// Schedule says when runs of a workflow start. A program declares it in a [Set], or makes it with [Put].
type Schedule struct {
	is    world.Schedule
	input timetable.Input // computes it; nil: it is said
	fault error
}

// Option says something of a schedule.
type Option func(*Schedule)

// Times are when runs start: cron expressions of 5 or 6 fields, the first of 6 is seconds, with names of days and
// months, L, W and #; @hourly, @daily, @weekly, @monthly, @yearly; @every 6h, counted from 1970 in UTC, and @every
// 6h+15m, that much later; and single times as @at 2026-12-24T18:00:00+01:00. Any of them is a time. At least one is
// needed, and one that never comes is refused.
func Times(expressions ...string) Option {
	return func(s *Schedule) { s.is.Says.Times = append(s.is.Says.Times, expressions...) }
}

// Zone is the time zone of the expressions, by its IANA name as Europe/Berlin; UTC where nobody says it. An expression
// that names its hours goes by the clock on the wall: a reading that a change of the clocks leaves out is the moment of
// that change, and one that comes twice is the first. One for every hour goes by the time that passes.
func Zone(name string) Option { return func(s *Schedule) { s.is.Says.Zone = name } }

// From and Until bound the times, both included; Runs is how many runs start at most.
func From(t time.Time) Option {
	return func(s *Schedule) { s.is.Says.From = t.UTC().Truncate(time.Second) }
}

// Until is the last moment at which a run may start: one that would later, by its jitter, starts then. See [From].
func Until(t time.Time) Option {
	return func(s *Schedule) { s.is.Says.Until = t.UTC().Truncate(time.Second) }
}

// Runs is how many runs start at most; any number where nobody says it.
func Runs(n int) Option { return func(s *Schedule) { s.is.Says.Runs = n } }

// Jitter has each run start so much later at most than its time, by a hash of name and time: many schedules of one time
// spread, and each is always as late.
func Jitter(most time.Duration) Option { return func(s *Schedule) { s.is.Says.Jitter = most } }

// CatchUp is how old a time may be that nobody looked at, as all programs were down: it still gets its run. A day where
// nobody says it. Those that are older are counted as missed.
func CatchUp(window time.Duration) Option { return func(s *Schedule) { s.is.Says.CatchUp = window } }

// Overlap says what happens at a time if the schedule's last run is not over; the default is [Skip].
func Overlap(o world.Overlap) Option { return func(s *Schedule) { s.is.Says.Overlap = o } }

// What happens at a time if the schedule's last run is not over.
const (
	Skip     = world.OverlapSkip     // it has no run
	QueueOne = world.OverlapQueueOne // it waits for that end; those that come meanwhile have no run
	QueueAll = world.OverlapQueueAll // it waits for that end, and those that come meanwhile behind it
	Cancel   = world.OverlapCancel   // that run is cancelled, and then the newest time has its run
	Allow    = world.OverlapAllow    // its run starts beside
)

// PauseOnFailure pauses the schedule where its last run failed, when the next is due.
func PauseOnFailure() Option { return func(s *Schedule) { s.is.Says.PauseOnFailure = true } }

// New is a schedule of a workflow, whose runs all start with this input.
func New[In, Out any](name string, w *stepwell.Workflow[In, Out], input In, opts ...Option) *Schedule {
	s := &Schedule{}
	s.is.Says.Input, s.fault = codec.Encode(input, codec.DefaultLimit)
	return build(s, name, w, opts)
}

// Computed is a schedule of a workflow whose inputs a function computes of the time that a run is of, and of the last
// time before it whose run completed, zero where there is none. The function is called whenever a run is about to
// start, perhaps more than once. Only a program that has the schedule in a [Set] starts its runs.
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

// Name is the schedule's name.
func (s *Schedule) Name() string { return s.is.Name }

// Next are its first n times after another.
func (s *Schedule) Next(after time.Time, n int) []time.Time {
	t, err := timetable.Parse(s.is.Name, &s.is.Says)
	if err != nil || s.fault != nil {
		return nil
	}
	return t.Some(after, n)
}

// Set declares schedules: a definition. When an App that has it begins to run, they are made in the database, or
// changed there to what the program says; what had the set's name before and is not in it any more is paused, with a
// note, and not deleted. A program that has a lower revision than the one that declared last changes nothing: raise
// it with each change, so that an older deploy does not turn it back.
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
		Check: func(able world.Abilities) error {
			if able.ScheduleKeeper == nil {
				return errNoSchedules
			}
			return nil
		},
		Run: func(ctx context.Context, room kit.App) {
			kit.Stand(ctx, room.Logger.With("set", name), "a set of schedules", "Raise its revision if this program is the newer one, or rename the schedules that belong to others", func() error {
				return timetable.Declare(ctx, room.Timetable.Store, set)
			})
		},
	}).(stepwell.Definition)
}

var errNoSchedules = fmt.Errorf("%w: this store does not support schedules", world.ErrInvalid)

func open(doing string, app *stepwell.App) (*timetable.Keeper, error) {
	if app == nil {
		return nil, fmt.Errorf("%s: %w", doing, kit.Missing("the App"))
	}
	k := kit.AppOf(app).Timetable
	if k == nil {
		return nil, fmt.Errorf("%s: %w", doing, errNoSchedules)
	}
	return k, nil
}

// Put makes a schedule now, or changes the one with its name to what this says: for programs that do not have it in a
// [Set]. By is who asks for it. Other times than before hold from now on: what was due by those and waits counts as
// skipped. The error is [world.ErrConflict] where a program declares it, and [world.ErrInvalid] where all its times are
// past.
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

// Pause has a schedule start nothing until it is resumed, and keeps who asked for that, and why.
func Pause(ctx context.Context, app *stepwell.App, name, by, reason string) error {
	k, err := open("pause schedule", app)
	if err == nil {
		_, err = timetable.Pause(ctx, k.Store, name, by, reason)
	}
	return err
}

// Resume has a schedule go on with its next time from now; see [Backfill] for what it did not start meanwhile.
func Resume(ctx context.Context, app *stepwell.App, name string) error {
	k, err := open("resume schedule", app)
	if err == nil {
		_, err = timetable.Resume(ctx, k.Store, name)
	}
	return err
}

// Delete deletes a schedule. Its runs stay. One that a program declares is made again when that starts.
func Delete(ctx context.Context, app *stepwell.App, name string) error {
	k, err := open("delete schedule", app)
	if err != nil {
		return err
	}
	return k.Store.DeleteSchedule(ctx, name)
}

// Trigger starts one run now, beside the times of a schedule, and whatever its overlap says. It tells the run's ID. Of
// one that is [Computed] an App that has its set can.
func Trigger(ctx context.Context, app *stepwell.App, name string) (run string, err error) {
	k, err := open("trigger schedule", app)
	if err != nil {
		return "", err
	}
	return k.Trigger(ctx, name, nil)
}

// Backfill starts the runs of all past times from one to another, both included, that have none; 1,000 at most. It
// tells the IDs of those that it started. Of one that is [Computed] an App that has its set can.
func Backfill(ctx context.Context, app *stepwell.App, name string, from, until time.Time) (runs []string, err error) {
	k, err := open("backfill schedule", app)
	if err != nil {
		return nil, err
	}
	done, err := k.Backfill(ctx, name, from, until)
	return done.Started, err
}

// List is a page of schedules, by name, behind one; limit at most, 1,000 or fewer.
func List(ctx context.Context, app *stepwell.App, behind string, limit int) ([]world.Schedule, error) {
	k, err := open("list schedules", app)
	if err != nil {
		return nil, err
	}
	return k.Store.Schedules(ctx, world.ScheduleQuery{After: behind, Limit: limit})
}

// Fire is what a run knows of the schedule that started it.
type Fire struct {
	Name     string
	At       time.Time // the time that it is of; of one that was triggered, that of the act
	Previous time.Time // the last time before whose run had completed when this one started; zero: none
}

// Of tells workflow code what schedule started the run, and for which time; false: none did. It is the same on replay.
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
