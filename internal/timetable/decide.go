package timetable

// This file decides what becomes of a schedule that is due.

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// LastRun is how the last run of a schedule stands.
type LastRun struct {
	Gone      bool // it was deleted: how it ended is not known
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
	if is.Last != nil && last.Failed && s.Says.PauseOnFailure && is.Forgive != is.Last.Run {
		pause(&out.row, "stepwell", fmt.Sprintf("the run %s did not complete", is.Last.Run), now)
		return out
	}
	edge := now.Add(-cmp.Or(s.Says.CatchUp, world.DefaultCatchUp))
	if is.Next.After(is.Seen) && t.due(is.Next).Before(edge) {
		is.Missed += t.pass(is, func(at time.Time) bool { return t.due(at).Before(edge) }, edge.Add(-1))
	}
	due := func(at time.Time) bool { return !at.IsZero() && !t.due(at).After(now) }
	if !due(is.Next) {
		is.Due = t.due(is.Next)
		return out
	}
	is.Seen = now
	overlap := cmp.Or(s.Says.Overlap, world.OverlapSkip)
	if overlap == world.OverlapCancel { // the newest alone
		for n, next := 0, t.Next(is.Next); due(next) && n < mostCounted; n++ {
			is.Skipped, is.Passed, is.Next = is.Skipped+1, is.Next, next
			next = t.Next(next)
		}
	}
	if is.Last != nil && !last.Over && overlap != world.OverlapAllow {
		switch overlap {
		case world.OverlapSkip:
			is.Skipped += t.pass(is, due, now)
			is.Due = t.due(is.Next)
			return out
		case world.OverlapCancel:
			out.cancel = is.Last.Run
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
	is.Due = t.due(is.Next)
	return out
}

// pass goes on to the first time that is not so, and counts those that have no run for it. Behind mostCounted it
// goes on to the first after a time.
func (t *Times) pass(is *world.ScheduleSoFar, so func(at time.Time) bool, after time.Time) (n int) {
	for !is.Next.IsZero() && so(is.Next) {
		if n == mostCounted {
			is.Passed = after.Truncate(time.Second)
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

// pause pauses a schedule.
func pause(s *world.Schedule, by, reason string, now time.Time) {
	s.Paused = &world.QueuePause{By: by, Reason: reason, Since: now}
	s.Is.Due = time.Time{}
}
