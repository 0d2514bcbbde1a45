package timetable

// This file is what people and programs do to schedules.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stepwell/stepwell/world"
)

// MostBackfilled is how many runs one backfill may start.
const MostBackfilled = 1_000

// tries is how often a change is made anew where others change the schedule too.
const tries = 20

// Find is a schedule. The error is [world.ErrNotFound] where there is none.
func Find(ctx context.Context, store world.Scheduler, name string) (*world.Schedule, error) {
	if err := world.CheckScheduleName("schedule", name); err != nil {
		return nil, err
	}
	all, err := store.Schedules(ctx, world.ScheduleQuery{Names: []string{name}, Limit: 1})
	if err == nil && len(all) == 0 {
		err = world.NoSchedule(name)
	}
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// change changes a schedule as f says, of what it is; nil: there is none. f tells nothing to write with nil.
func change(ctx context.Context, store world.Scheduler, name string, f func(is *world.Schedule) (*world.Schedule, error)) (*world.Schedule, error) {
	for range tries {
		is, err := Find(ctx, store, name)
		if errors.Is(err, world.ErrNotFound) {
			is, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		was := is
		if is != nil {
			own := *is
			is = &own
		}
		to, err := f(is)
		if err != nil || to == nil {
			return was, err
		}
		if err := Check(to); err != nil {
			return nil, err
		}
		if put, err := store.PutSchedule(ctx, *to); err != nil || put {
			return to, err
		}
	}
	return nil, fmt.Errorf("schedule %s: %w: other programs keep changing it; nothing was changed", name, world.ErrConflict)
}

// there is a change of a schedule that is there.
func there(ctx context.Context, store world.Scheduler, name string, f func(is *world.Schedule, t *Times) (bool, error)) (*world.Schedule, error) {
	return change(ctx, store, name, func(is *world.Schedule) (*world.Schedule, error) {
		if is == nil {
			return nil, world.NoSchedule(name)
		}
		if is.Damage != "" {
			return nil, fmt.Errorf("%w: %s: delete it, and create it again", world.ErrCorrupt, is.Damage)
		}
		t, err := Parse(name, &is.Says)
		if err != nil {
			return nil, err
		}
		changed, err := f(is, t)
		if err != nil || !changed {
			return nil, err
		}
		return is, nil
	})
}

// removed is the note of a schedule that a program has no more.
const removed = "the program that declared it no longer does"

// Put makes a schedule, or changes the one with its name to what this says; that it is paused stays. The error is
// [world.ErrConflict] where a program declares it.
func Put(ctx context.Context, store world.Scheduler, s world.Schedule) (*world.Schedule, error) {
	if err := Check(&s); err != nil {
		return nil, err
	}
	return change(ctx, store, s.Name, func(is *world.Schedule) (*world.Schedule, error) {
		if is != nil && is.Set != "" {
			return nil, fmt.Errorf("schedule %s: %w: the program with the set %s declares it: change it there, or pause it here", s.Name, world.ErrConflict, is.Set)
		}
		to, err := merge(is, s)
		if err == nil && to != nil && to.Is.Next.IsZero() && (is == nil || !sameTimes(is.Says, s.Says)) {
			return nil, over(to)
		}
		return to, err
	})
}

// over is the error for a schedule that has no time to come.
func over(s *world.Schedule) error {
	if n := s.Says.Runs; n > 0 && s.Is.Count >= n {
		return fmt.Errorf("schedule %s: %w: it has started %d runs, its limit is %d: delete or pause it", s.Name, world.ErrInvalid, s.Is.Count, n)
	}
	return fmt.Errorf("schedule %s: %w: all of its times are past", s.Name, world.ErrInvalid)
}

// merge is a schedule as it is to be said; nil: it is so already.
func merge(is *world.Schedule, says world.Schedule) (*world.Schedule, error) {
	t, err := Parse(says.Name, &says.Says)
	if err != nil {
		return nil, err
	}
	now := world.Now()
	if is == nil || is.Damage != "" {
		if is != nil {
			says.Change = is.Change
		}
		begin(&says, t, now)
		return &says, nil
	}
	back := is.Paused != nil && is.Paused.By == "code" && is.Paused.Reason == removed
	sameTimes := sameTimes(is.Says, says.Says)
	if !back && sameTimes && is.Revision == says.Revision && is.Set == says.Set && same(is.Says, says.Says) {
		return nil, nil
	}
	out := *is
	if back || !sameTimes {
		until := now
		if is.Paused != nil {
			until = is.Paused.Since
		}
		if before, err := Parse(is.Name, &is.Says); err == nil { // else nobody knows what was due
			before.drop(&out, until)
		}
	}
	out.Says, out.Set, out.Revision, out.Made = says.Says, says.Set, says.Revision, says.Made
	if back {
		out.Paused = nil
	}
	if back || !sameTimes {
		begin(&out, t, now)
	}
	return &out, nil
}

func sameTimes(a, b world.ScheduleSpec) bool { return reflect.DeepEqual(timesOf(a), timesOf(b)) }

// timesOf is what says when.
func timesOf(s world.ScheduleSpec) world.ScheduleSpec {
	return world.ScheduleSpec{Times: s.Times, Zone: s.Zone, From: s.From.UTC(), Until: s.Until.UTC(), Runs: s.Runs, Jitter: s.Jitter}
}

func same(a, b world.ScheduleSpec) bool {
	if !bytes.Equal(a.Input, b.Input) || a.Encrypted != b.Encrypted {
		return false
	}
	a.Input, b.Input = nil, nil
	a.Times, a.From, a.Until = b.Times, b.From, b.Until // they are, as far as times go
	return reflect.DeepEqual(a, b)
}

// Set are the schedules of a set of a program.
type Set struct {
	Name     string
	Revision int
	All      []world.Schedule
}

// Declare has the schedules of a set of a program stand, and pauses those that were of it and are no more. What a
// program with a higher revision has declared stays, and so does what is another set's or was made by hand: the
// error says which, and is [world.ErrConflict].
func Declare(ctx context.Context, store world.Scheduler, of Set) error {
	set, revision := of.Name, of.Revision
	if err := world.CheckScheduleName("set", set); err != nil {
		return err
	}
	var conflicts []error
	has := map[string]bool{}
	for _, s := range of.All {
		s.Set, s.Revision = set, revision
		s.Made = world.Provenance{By: "code", At: world.Now()}
		has[s.Name] = true
		_, err := change(ctx, store, s.Name, func(is *world.Schedule) (*world.Schedule, error) {
			switch {
			case is == nil || is.Damage != "":
			case is.Set != set:
				whose := "someone by hand"
				if is.Set != "" {
					whose = "the set " + is.Set
				}
				return nil, fmt.Errorf("schedule %s: %w: it was made by %s: delete it there first", s.Name, world.ErrConflict, whose)
			case is.Revision > revision:
				return nil, fmt.Errorf("schedule %s: %w: revision %d of the set %s is newer than %d", s.Name, world.ErrConflict, is.Revision, set, revision)
			}
			return merge(is, s)
		})
		if errors.Is(err, world.ErrConflict) {
			conflicts = append(conflicts, err)
		} else if err != nil {
			return err
		}
	}
	for q := (world.ScheduleQuery{Set: set, Limit: 1_000}); ; {
		page, err := store.Schedules(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			s := &page[i]
			if q.After = s.Name; has[s.Name] || s.Paused != nil || s.Revision > revision || s.Damage != "" {
				continue
			}
			if err := remove(ctx, store, s.Name, set, revision); err != nil && !errors.Is(err, world.ErrNotFound) {
				return err
			}
		}
		if len(page) < q.Limit {
			return errors.Join(conflicts...)
		}
	}
}

// remove pauses what a set has no more from a revision on: an older one does not turn that back.
func remove(ctx context.Context, store world.Scheduler, name, set string, revision int) error {
	_, err := there(ctx, store, name, func(is *world.Schedule, _ *Times) (bool, error) {
		if is.Set != set || is.Paused != nil || is.Revision > revision {
			return false, nil
		}
		pause(is, "code", removed, world.Now())
		is.Revision = revision
		return true, nil
	})
	return err
}

// Pause has a schedule start nothing until it is resumed. One that is paused gets the new note.
func Pause(ctx context.Context, store world.Scheduler, name, by, reason string) (*world.Schedule, error) {
	return there(ctx, store, name, func(is *world.Schedule, _ *Times) (bool, error) {
		pause(is, by, reason, world.Now())
		return true, nil
	})
}

// Resume has a schedule go on with its next time from now. What it would have started meanwhile is not caught up: that
// is what a backfill is for.
func Resume(ctx context.Context, store world.Scheduler, name string) (*world.Schedule, error) {
	return there(ctx, store, name, func(is *world.Schedule, t *Times) (bool, error) {
		if is.Paused == nil {
			return false, nil
		}
		t.drop(is, is.Paused.Since)
		is.Paused = nil
		begin(is, t, world.Now())
		return true, nil
	})
}

// Trigger starts one run now, beside the times of a schedule, whose overlap it does not ask for. input takes the
// place of the schedule's; nil: it does not.
func (k *Keeper) Trigger(ctx context.Context, name string, input []byte) (run string, err error) {
	s, err := k.readable(ctx, name)
	if err != nil {
		return "", err
	}
	now := world.Now().Truncate(time.Second)
	f := &Firing{Schedule: *s, Beside: true, At: now, Previous: s.Is.Done, Input: input}
	f.ID = world.ScheduledID(name, now) + "~" + world.NewID("now", now)[len("now_"):]
	if f.Input == nil {
		if f.Input, err = k.input(s, f.At, f.Previous); err != nil {
			return "", elsewhere(err, "trigger it there, or give the input")
		}
	}
	if run, _, err = k.Start(ctx, f); err != nil {
		return f.ID, err
	}
	return run, nil // another, where the start was merged into that
}

// elsewhere adds to the error that a function is another program's what to do.
func elsewhere(err error, do string) error {
	if errors.Is(err, errElsewhere) {
		return fmt.Errorf("%w: %w: %s", world.ErrInvalid, err, do)
	}
	return err
}

func (k *Keeper) readable(ctx context.Context, name string) (*world.Schedule, error) {
	s, err := Find(ctx, k.Store, name)
	switch {
	case err != nil:
		return nil, err
	case s.Damage != "":
		return nil, fmt.Errorf("%w: %s", world.ErrCorrupt, s.Damage)
	case s.Says.Encrypted != "":
		return nil, fmt.Errorf("schedule %s: %w: its input is encrypted with the key %q", name, world.ErrNoKey, s.Says.Encrypted)
	}
	return s, nil
}

// Backfilled is what a backfill came to.
type Backfilled struct {
	Started []string // IDs of runs
	Existed []string // of times that had a run, which is the one
}

// Backfill starts the runs of all times from one to another, both included, that have none: at once, whatever the
// overlap says. The error is [world.ErrInvalid] where they are more than [MostBackfilled], and nothing was started.
func (k *Keeper) Backfill(ctx context.Context, name string, from, until time.Time) (out Backfilled, err error) {
	s, err := k.readable(ctx, name)
	if err != nil {
		return out, err
	}
	t, err := Parse(name, &s.Says)
	if err != nil {
		return out, err
	}
	switch {
	case from.IsZero() || until.IsZero() || until.Before(from):
		return out, fmt.Errorf("schedule %s: %w: backfill from %s to %s: want two times in order", name, world.ErrInvalid, from.Format(time.RFC3339), until.Format(time.RFC3339))
	case until.After(world.Now()):
		return out, fmt.Errorf("schedule %s: %w: backfill to %s: want a time in the past", name, world.ErrInvalid, until.Format(time.RFC3339))
	}
	var times []time.Time
	for at := t.Next(from.Add(-1)); !at.IsZero() && !at.After(until); at = t.Next(at) {
		if len(times) == MostBackfilled {
			return out, fmt.Errorf("schedule %s: %w: backfill from %s to %s: there are more than %d times; do it in parts", name, world.ErrInvalid, from.Format(time.RFC3339), until.Format(time.RFC3339), MostBackfilled)
		}
		times = append(times, at)
	}
	for _, at := range times {
		f := &Firing{Schedule: *s, Beside: true, At: at, Previous: s.Is.Done, ID: world.ScheduledID(name, at)}
		if !f.Previous.Before(at) {
			f.Previous = time.Time{}
		}
		if f.Input, err = k.input(s, f.At, f.Previous); err != nil {
			return out, elsewhere(err, "backfill it there, by schedule.Backfill")
		}
		run, existed, err := k.Start(ctx, f)
		if err != nil {
			return out, fmt.Errorf("schedule %s: backfill: %d of %d were started: %w", name, len(out.Started), len(times), err)
		}
		if existed {
			out.Existed = append(out.Existed, run)
		} else {
			out.Started = append(out.Started, f.ID)
		}
	}
	return out, nil
}
