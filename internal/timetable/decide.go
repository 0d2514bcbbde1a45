package timetable

// This file decides what becomes of a schedule that is due.

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// LastRun is how the last run of a schedule stands, or what took its place.
type LastRun struct {
	Run       string        // its ID; "": it is the schedule's
	Gone      bool          // it was deleted: how it ended is not known
	Kept      time.Duration // for how long behind its end; below 0: for ever; 0: that is not known
	Over      bool
	Completed bool
	Failed    bool
}

// Firing is a run that is to be started.
type Firing struct {
	Schedule world.Schedule // as it is when the run has been started: both are one commit
	Beside   bool           // it is not: the run starts beside
	At       time.Time
	Previous time.Time // the last time before whose run completed; zero: none is known
	Input    []byte
	ID       string
}

// step is what is to be done about a schedule.
type step struct {
	row    world.Schedule // as it is to be
	fire   bool           // in one commit with a run of at
	at     time.Time
	cancel string // the run that is to be cancelled
}

// mostCounted is how many times are counted one by one that have no run. Where there are more the rest is not counted.
const mostCounted = 10_000

// When a run is looked at that is not over, and that may be deleted before the next time is due: see lookAt.
const (
	firstLook = time.Hour // where it is not known for how long it is kept
	leastLook = time.Minute
)

// decide says what is to be done about a schedule at a time. It holds:
//
//  1. Times are decided upon in order, each once: Next is the first that is not. What was decided is never decided
//     again, whatever build has other zones, as it is the row that says what is next.
//  2. A time is missed where nobody looked within the window behind it. One that was looked at and waits is not.
//  3. While the last run is not over no other one is started, but for OverlapAllow.
func decide(s *world.Schedule, t *Times, now time.Time, last *LastRun) step {
	out := step{row: *s}
	is := &out.row.Is
	is.Error, is.Tries = "", 0
	if is.Last != nil && last.Completed && is.Last.At.After(is.Done) {
		is.Done = is.Last.At
	}
	if is.Last != nil && last.Failed && s.Says.PauseOnFailure && is.Forgive != is.Last.Run && (t.isDue(is.Next, now) || t.mayGo(is, last, now)) {
		pause(&out.row, "stepwell", fmt.Sprintf("the run %s did not complete", is.Last.Run), now)
		return out
	}
	due := func(at time.Time) bool { return t.isDue(at, now) }
	if !t.see(&out.row, now) {
		is.Due = t.lookAt(is, last, now)
		return out
	}
	overlap := cmp.Or(s.Says.Overlap, world.OverlapSkip)
	if overlap == world.OverlapCancel {
		is.Skipped += t.newest(is, now)
	}
	if is.Last != nil && !last.Over && overlap != world.OverlapAllow {
		switch overlap {
		case world.OverlapSkip:
			is.Skipped += t.pass(is, due, now)
			is.Due = t.lookAt(is, last, now)
			return out
		case world.OverlapCancel:
			out.cancel = cmp.Or(last.Run, is.Last.Run)
		}
		if is.Waits.IsZero() {
			is.Waits = now
		}
		is.Due = now.Add(min(max(now.Sub(is.Waits)/8, time.Second), 30*time.Second))
		return out
	}
	waited := !is.Waits.IsZero()
	out.fire, out.at = true, is.Next
	is.Count++
	is.Last, is.Waits = &world.ScheduledRun{Run: world.ScheduledID(s.Name, out.at), At: out.at}, time.Time{}
	is.Next = t.Next(out.at)
	if waited && overlap == world.OverlapQueueOne {
		is.Skipped += t.pass(is, due, now)
	}
	if s.Says.Runs > 0 && is.Count >= s.Says.Runs {
		is.Next = time.Time{}
	}
	is.Due = t.lookAt(is, &LastRun{Kept: last.Kept}, now) // as the one before, for all that is known
	return out
}

// strange is what is to be done where the ID of the run that was to start is that of a run of somebody else: the time
// has none, and is counted.
func (d *step) strange(s *world.Schedule, t *Times, why error) {
	is := &d.row.Is
	is.Last, is.Count, is.Error = s.Is.Last, s.Is.Count, brief(why)
	is.Skipped++
	if !is.Passed.After(d.at) {
		is.Passed = d.at
	}
	if is.Next.IsZero() { // perhaps as that was to be the last of its runs
		is.Next = t.Next(d.at)
		is.Due = t.due(is.Next)
	}
}

// see counts what was missed until now, and notes that somebody has looked at what is due, if anything is.
func (t *Times) see(s *world.Schedule, now time.Time) (due bool) {
	is := &s.Is
	edge := now.Add(-cmp.Or(s.Says.CatchUp, world.DefaultCatchUp))
	if is.Next.After(is.Seen) && t.due(is.Next).Before(edge) {
		is.Missed += t.pass(is, func(at time.Time) bool { return t.due(at).Before(edge) }, edge.Add(-1))
	}
	if due = t.isDue(is.Next, now); due {
		is.Seen = now
	}
	return due
}

// isDue reports whether the run of a time is to start now.
func (t *Times) isDue(at, now time.Time) bool { return !at.IsZero() && !t.due(at).After(now) }

// lookAt is when to look at a schedule again: when its next time is due, or, where its last run may have ended and been
// deleted by then, after half of the time for which that is kept.
func (t *Times) lookAt(is *world.ScheduleSoFar, last *LastRun, now time.Time) time.Time {
	next := t.due(is.Next)
	if is.Last == nil || last.Over || last.Kept < 0 || next.IsZero() {
		return next
	}
	look := firstLook
	if last.Kept > 0 {
		look = max(last.Kept/2, leastLook)
	}
	if at := world.After(now, look); at.Before(next) {
		return at
	}
	return next
}

// mayGo reports whether a last run that is over may be deleted before the next time is due.
func (t *Times) mayGo(is *world.ScheduleSoFar, last *LastRun, now time.Time) bool {
	return t.lookAt(is, &LastRun{Kept: last.Kept}, now).Before(t.due(is.Next))
}

// newest goes on to the last time that is due, and counts those before it.
func (t *Times) newest(is *world.ScheduleSoFar, now time.Time) (n int) {
	for next := t.Next(is.Next); t.isDue(next, now); next = t.Next(next) {
		if is.Passed = is.Next; n == mostCounted { // with jitter some times behind this one may be due
			next = t.last(next, now.Add(-t.says.Jitter))
		} else {
			n++
		}
		is.Next = next
	}
	return n
}

// drop counts what was due until a time and has no run: it is to have none any more.
func (t *Times) drop(s *world.Schedule, until time.Time) {
	t.see(s, until)
	s.Is.Skipped += t.pass(&s.Is, func(at time.Time) bool { return !at.After(until) }, until)
}

// pass goes on to the first time that is not so, and counts those that have no run for it. Behind mostCounted it
// goes on to the first after a time.
func (t *Times) pass(is *world.ScheduleSoFar, so func(at time.Time) bool, after time.Time) (n int) {
	for !is.Next.IsZero() && so(is.Next) {
		if n == mostCounted {
			is.Passed = t.last(is.Next, after)
			is.Next = t.Next(after)
			return n
		}
		n++
		is.Passed = is.Next
		is.Next = t.Next(is.Next)
	}
	return n
}

// begin has a schedule stand as one that goes on from now.
func begin(s *world.Schedule, t *Times, now time.Time) {
	is := &s.Is
	is.Next, is.Waits, is.Error, is.Tries, is.Seen = t.Next(now), time.Time{}, "", 0, now
	if s.Says.Runs > 0 && is.Count >= s.Says.Runs {
		is.Next = time.Time{}
	}
	is.Due = t.due(is.Next)
	if s.Paused != nil {
		is.Due = time.Time{}
	}
	if is.Last != nil {
		is.Forgive = is.Last.Run
	}
}

// pause pauses a schedule. One that is paused is so since it was first.
func pause(s *world.Schedule, by, reason string, now time.Time) {
	if s.Paused != nil {
		now = s.Paused.Since
	}
	s.Paused = &world.QueuePause{By: by, Reason: reason, Since: now}
	s.Is.Due = time.Time{}
}
