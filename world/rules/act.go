package rules

// Acts: what an operator's pause, resumption, wake or forced cancel comes to, see [world.Delivery].

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Acted is what is known of a run that somebody acts on, whose act has not come before.
type Acted struct {
	Live    bool            // it is not over. To a forced cancel one that has lost its place in the queue, and has no end, is live
	End     world.EventType // where it is over: what its log ends with; "": that cannot be read
	Owned   bool            // by a worker
	Begun   bool
	Paused  bool // as its log says
	Blocked bool
	Delayed bool // it has not begun, and is due later
	Waits   bool // a pause or a resumption waits in its inbox. It counts, and need be known, only where [Acted.Queues] says so
}

// Queues reports whether an act goes behind one that waits already: not before what was asked earlier.
func (r Acted) Queues(d *world.Delivery) bool {
	return r.Live && !r.Owned && !d.Wakes() && d.Events[0].Type != world.RunCancelled
}

// Deed is what an act comes to. The zero value: it says nothing new, and is accepted.
type Deed struct {
	Retry  bool // the run, which is blocked or delayed, is due at once, and its tries count anew; beside what follows
	Post   bool // it goes to the inbox
	Ends   bool // and ends the pause of a run that nobody owns: it makes that runnable
	Append bool // it is appended to the log
}

// Act decides what an act comes to. A run that is over is refused with [world.ErrTerminal], unless it is cancelled and is to be.
func Act(d *world.Delivery, r Acted) (deed Deed, err error) {
	act := d.Events[0].Type
	switch forced := act == world.RunCancelled; {
	case !r.Live && forced && r.End == act:
		return deed, nil
	case !r.Live:
		return deed, fmt.Errorf("run %s: %w", d.Run, world.ErrTerminal)
	case forced && d.Unbegun && (r.Owned || r.Begun):
		return deed, nil
	case forced:
		return Deed{Append: true}, nil
	}
	resumes := act == world.RunResumed
	deed.Retry = resumes && r.Blocked && !r.Owned && !(d.Wakes() && r.Paused) || d.Wakes() && r.Delayed && !r.Blocked && !r.Owned
	switch {
	case d.Wakes():
	case r.Owned || r.Waits:
		deed.Post, deed.Ends = true, resumes && r.Paused && !r.Owned
	case r.Paused == resumes: // else it is as it is already
		deed.Append = true
	}
	return deed, nil
}

// WakeAfter is when a run is due that was resumed. What came or fell due while it was paused, and the resumption itself, want a turn; the run did not
// wait for one meanwhile.
func WakeAfter(running bool, wake, now time.Time) time.Time {
	if running || !wake.IsZero() && wake.Before(now) {
		return now
	}
	return wake
}

// Later is the time of an event that a world itself appends: never before the last one's.
func Later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// CancelOfChild is what each child that is not detached is sent where its parent is ended by force: nobody else is left who could.
func CancelOfChild(end *world.Event) world.Event {
	return world.Event{Type: world.CancelRequested, By: end.By, Reason: "its parent was cancelled"}
}
