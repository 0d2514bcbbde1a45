package world

// This file tells what could be claimed: for who wakes workers, as push delivery does.

import (
	"context"
	"time"
)

// ReadyReader is a [World] that tells what could be claimed, and claims nothing.
type ReadyReader interface {
	// Ready lists runs and tasks that a worker with these classes and steps would be given if it took now, those first that it would be given first, about:
	// it is not fair across workflows. Nothing is claimed, and no worker need be there. What was held by a worker whose lease is over is among
	// them, as who claims next ends that lease. It may list what cannot be claimed after all; it leaves out nothing but what the limit cuts.
	Ready(ctx context.Context, q ReadyQuery) (Ready, error)
}

// ReadyQuery says what is asked for.
type ReadyQuery struct {
	Classes []Class  // of runs; a run to be cancelled is listed whatever its class, as [Queue] says. Empty: no runs
	Steps   []string // names of tasks. Empty: no tasks
	Limit   int      // how many are listed, at most; default 100, most 1,000
}

// Ready is what could be claimed.
type Ready struct {
	Now   time.Time // the world's clock
	Items []ReadyItem
	More  bool      // the limit cut it
	Next  time.Time // when the next is due, or may come back from a worker that is not heard of any more; zero: none that is known
}

// ReadyItem is a run, or a task of one.
type ReadyItem struct {
	Run      string
	Class    Class     // of a run; of a task it is zero
	Step     string    // correlation ID of the task; "": it is the run
	StepName string    // of the task
	Priority int       // as it was created with
	Due      time.Time // since when it is ready
}

// Sizes of a list of what is ready.
const (
	defaultReady = 100
	mostReady    = 1000
)

// Most is the limit that counts.
func (q *ReadyQuery) Most() int {
	if q.Limit <= 0 {
		return defaultReady
	}
	return min(q.Limit, mostReady)
}

// Sooner notes when something else is due.
func (r *Ready) Sooner(at time.Time) {
	if !at.IsZero() && (r.Next.IsZero() || at.Before(r.Next)) {
		r.Next = at
	}
}
