package world

// This file has what becomes of runs that do not begin in time.

import (
	"fmt"
	"slices"
	"time"
)

// StartBy returns when a run that was created at a time lapses if it has not begun; zero: never.
// The time counts from the end of a delayed start or of gathering.
func (b *Birth) StartBy(created time.Time) time.Time {
	if b.StartTTL <= 0 {
		return time.Time{}
	}
	if b.NotBefore.After(created) {
		created = b.NotBefore
	}
	if b.Gather != nil { // at the latest
		created = After(created, b.Gather.Most)
	}
	return After(created, b.StartTTL)
}

// Lapses returns when a run that is created with events lapses if it has not begun; zero: never, or
// it has begun. A run that is made from another, as a fork or a retry, begins with its first claim,
// because its events are the other's.
func Lapses(created time.Time, events []Event) time.Time {
	b := events[0].Birth
	started := slices.ContainsFunc(events, func(e Event) bool { return e.Type == RunStarted })
	if started && (b.Origin == nil || slices.ContainsFunc(events, func(e Event) bool { return e.Time.After(events[0].Time) })) {
		return time.Time{}
	}
	return b.StartBy(created)
}

// Lapse returns the event that ends a run that has not begun within a time.
func Lapse(within time.Duration) Event {
	why := fmt.Sprintf("it did not begin within %s", within)
	return Event{Type: RunCancelled, By: "start TTL", Error: &Error{Message: why, Code: CodeNotStarted, Permanent: true}}
}

// Lapsing are runs that have not begun in time and must be ended with [Lapse].
type Lapsing struct {
	Runs []LapsingRun
	More bool          // there are more
	Next time.Duration // until the next one that is known; 0: none
}

// LapsingRun is one run of [Lapsing].
type LapsingRun struct {
	Run    string
	Within time.Duration // its start TTL
}

// LapsePatience is how long [Starter.Lapsing] leaves runs to the caller that got them.
const LapsePatience = 10 * time.Second

// MaxLapsing is how many runs [Starter.Lapsing] returns at once.
const MaxLapsing = 256
