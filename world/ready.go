package world

// This file tells what could be claimed: for who wakes workers, as push delivery does.

import (
	"time"
)

// ReadyQuery says what to list.
type ReadyQuery struct {
	Classes []Class  // of runs; runs to be cancelled are listed as [Queue] says; empty: no runs
	Steps   []string // names of registered steps; empty: no tasks
	Limit   int      // length of the list; default 100, at most 1,000
}

// Ready is what could be claimed.
type Ready struct {
	Now   time.Time // time of the store
	Items []ReadyItem
	More  bool // the limit cut the list
	// Next is when the next one is due, or may come back from a worker that sends no heartbeats.
	// Zero: none known.
	Next time.Time
}

// ReadyItem is a run, or a task of a run.
type ReadyItem struct {
	Run      string
	Class    Class     // of a run; zero for a task
	Step     string    // correlation ID of the task; "": it is a run
	StepName string    // name of the task's step
	Priority int       // at its creation
	Due      time.Time // since when it is ready
}

// Sizes of a list of what is ready.
const (
	defaultReady = 100
	mostReady    = 1000
)

// Most returns the effective limit.
func (q *ReadyQuery) Most() int {
	if q.Limit <= 0 {
		return defaultReady
	}
	return min(q.Limit, mostReady)
}

// Sooner lowers Next to a time.
func (r *Ready) Sooner(at time.Time) {
	if !at.IsZero() && (r.Next.IsZero() || at.Before(r.Next)) {
		r.Next = at
	}
}
