package rules

// Acts: what an operator's pause, resumption, wake or forced cancel comes to, see [world.Delivery].

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Acted is the state of a run that receives a new act.
type Acted struct {
	// Live means that it is not over. For a forced cancel, a run that lost its queue row and has no
	// end is live.
	Live    bool
	End     world.EventType // of a run that is over: type of its last event; "": unreadable
	Owned   bool            // a worker owns it
	Begun   bool
	Paused  bool // by its log
	Blocked bool
	Delayed bool // it has not begun, and is due later
	// Waits means that a pause or resume waits in its inbox. It is needed only if [Acted.Queues]
	// returns true.
	Waits bool
}

// Queues reports whether an act must follow one that already waits, to keep their order.
func (r Acted) Queues(d *world.Delivery) bool {
	return r.Live && !r.Owned && !d.Wakes() && d.Events[0].Type != world.RunCancelled
}

// Deed is the effect of an act. The zero value: the act is accepted and changes nothing.
type Deed struct {
	// Retry: the blocked or delayed run is due at once, with its tries reset; in addition to the
	// rest.
	Retry  bool
	Post   bool // it is put in the inbox
	Ends   bool // and ends the pause of a run that nobody owns, which becomes runnable
	Append bool // it is appended to the log
}

// Act decides the effect of an act. An act on a run that is over is refused with
// [world.ErrTerminal], except a cancel of a cancelled run.
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

// WakeAfter returns when a resumed run is due. A running run is due now, because deliveries of the
// pause, and the resume itself, need a turn. A pending run keeps its time, or is due now if that
// has passed.
func WakeAfter(running bool, wake, now time.Time) time.Time {
	if running || !wake.IsZero() && wake.Before(now) {
		return now
	}
	return wake
}

// Later returns the time of an event that a store appends: now, but not before the last event's.
func Later(now, last time.Time) time.Time {
	if now.Before(last) {
		return last
	}
	return now
}

// CancelOfChild returns the event for each child that is not detached of a run that was ended by
// force.
func CancelOfChild(end *world.Event) world.Event {
	return world.Event{Type: world.CancelRequested, By: end.By, Reason: "its parent was cancelled"}
}
