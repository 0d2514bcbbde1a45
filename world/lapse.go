package world

// This file has what becomes of runs that do not begin in time.

import (
	"fmt"
	"slices"
	"time"
)

// StartBy is when a run that was created at a time lapses, unless it has begun; zero: never. That it starts later does
// not count, nor how long it may gather inputs.
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

// Lapses is by when a run is to begin that is created with events; zero: at any time, or it has begun. One that is made
// of another, as a fork or a retry, has the history of that, in which nothing is younger than itself: its own beginning
// is its first claim.
func Lapses(created time.Time, events []Event) time.Time {
	b := events[0].Birth
	started := slices.ContainsFunc(events, func(e Event) bool { return e.Type == RunStarted })
	if started && (b.Origin == nil || slices.ContainsFunc(events, func(e Event) bool { return e.Time.After(events[0].Time) })) {
		return time.Time{}
	}
	return b.StartBy(created)
}

// Lapse is the end of a run that has not begun within a time.
func Lapse(within time.Duration) Event {
	why := fmt.Sprintf("it did not begin within %s", within)
	return Event{Type: RunCancelled, By: "start TTL", Error: &Error{Message: why, Code: CodeNotStarted, Permanent: true}}
}

// Lapsing are runs that are to be ended, with [Lapse], as they have not begun in time.
type Lapsing struct {
	Runs []LapsingRun
	More bool          // there are more
	Next time.Duration // until the next one, of those that are known; 0: there is none
}

// LapsingRun is one of them.
type LapsingRun struct {
	Run    string
	Within time.Duration
}

// LapsePatience is for how long [Starter.Lapsing] leaves what it has told to who was told.
const LapsePatience = 10 * time.Second

// MaxLapsing is how many runs [Starter.Lapsing] tells at once.
const MaxLapsing = 256
