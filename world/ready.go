package world

// This file tells what could be taken: for who wakes workers, as push delivery does.

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// ReadyReader is a [World] that tells what could be taken without taking it.
type ReadyReader interface {
	// Ready lists runs and tasks that a worker with these classes and steps would be given if it took now, those first that it would be given first, about:
	// it is not fair across workflows. Nothing is taken, and no worker need be there. What was held by a worker whose lease is over is among
	// them, as who takes next ends that lease. It may list what cannot be taken after all; it leaves out nothing but what the limit cuts.
	Ready(ctx context.Context, q ReadyQuery) (Ready, error)
}

// ReadyQuery says what is asked for.
type ReadyQuery struct {
	Classes []Class  // of runs; a run to be cancelled is listed whatever its class, as [Queue] says. Empty: no runs
	Steps   []string // names of tasks. Empty: no tasks
	Limit   int      // how many are listed, at most; default 100, most 1,000
}

// Ready is what could be taken.
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
	Priority int       // as it was born with
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

// readyAging is how long an item waits to count one priority higher.
const readyAging = time.Minute

// Add puts items in their order, without those that are there twice, and cuts them at a limit. Worlds make their lists with it, once.
func (r *Ready) Add(items []ReadyItem, limit int) {
	level := func(i *ReadyItem) int64 { return int64(i.Priority) + int64(r.Now.Sub(i.Due)/readyAging) }
	slices.SortStableFunc(items, func(a, b ReadyItem) int {
		return cmp.Or(cmp.Compare(level(&b), level(&a)), a.Due.Compare(b.Due))
	})
	type key struct{ run, step string }
	seen := make(map[key]bool, len(items))
	for i := range items {
		k := key{items[i].Run, items[i].Step}
		if seen[k] {
			continue
		}
		if len(r.Items) == limit {
			r.More = true
			return
		}
		seen[k] = true
		r.Items = append(r.Items, items[i])
	}
}

// Sooner notes when something else is due.
func (r *Ready) Sooner(at time.Time) {
	if !at.IsZero() && (r.Next.IsZero() || at.Before(r.Next)) {
		r.Next = at
	}
}
