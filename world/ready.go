package world

// This file tells what could be claimed: for who wakes workers, as push delivery does.

import (
	"time"
)

// ReadyQuery says what to list.
type ReadyQuery struct {
	// of runs; runs to be cancelled are listed as [Queue] says; empty: no runs
	Classes []Class `json:"classes,omitzero"`
	// names of registered steps; empty: no tasks
	Steps []string `json:"steps,omitzero"`
	// length of the list; default 100, at most 1,000
	Limit int `json:"limit,omitzero"`
}

// Ready is what could be claimed.
type Ready struct {
	Now   time.Time   `json:"now"` // time of the store
	Items []ReadyItem `json:"items,omitzero"`
	More  bool        `json:"more,omitzero"` // the limit cut the list
	// Next is when the next one is due, or may come back from a worker that sends no heartbeats.
	// Zero: none known.
	Next time.Time `json:"next,omitzero"`
}

// ReadyItem is a run, or a task of a run.
type ReadyItem struct {
	Run      string    `json:"run"`
	Class    Class     `json:"class,omitzero"`    // of a run; zero for a task
	Step     string    `json:"step,omitzero"`     // correlation ID of the task; "": it is a run
	StepName string    `json:"stepName,omitzero"` // name of the task's step
	Priority int       `json:"priority"`          // at its creation
	Due      time.Time `json:"due"`               // since when it is ready
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
