// Where a run stands in the queue. This is the one place that says when a run is runnable.

package memory

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// place puts a run into the partition where it can be claimed, or into none, and tells when it moved.
func (w *World) place(r *run, n *notices) {
	if !w.limits.settle(r, n) {
		return
	}
	partition, due := w.standing(r)
	var at int64
	if partition != nil {
		at = due.UnixMicro()
	}
	if r.entry.move(partition, at) && partition != nil {
		n.add(world.NoticeWork, r.id)
	}
}

// standing is the partition of a run and the time from which it can be claimed; nil: it cannot.
func (w *World) standing(r *run) (*partition, time.Time) {
	if r.end != nil || r.owner != nil {
		return nil, time.Time{}
	}
	due := r.readyAt(r.due())
	if r.cancels > 0 {
		due = sooner(due, r.asked())
		if r.status != world.Running || r.blocked != nil || !w.known(r.class()) { // else its code has to clean up
			return partitionOf(w.cancels, r), due
		}
	}
	if due.IsZero() || w.said.starts.keep(r) {
		return nil, time.Time{}
	}
	return partitionOf(w.partitions, r), due
}

// due is when a run that nobody owns can be claimed, but for a cancel; zero: nothing wakes it. A cancel can only bring it forward.
func (r *run) due() time.Time {
	switch {
	case r.paused && !r.waits(world.RunResumed):
		return time.Time{}
	case r.blocked == nil && r.status == world.Running && len(r.inbox) > 0:
		return sooner(r.wakeAt, r.inbox[0].at)
	}
	return r.wakeAt
}

// sooner is the earlier of two times, of which the first may be zero: never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// known reports whether a worker has registered a class.
func (w *World) known(c world.Class) bool {
	for _, wk := range w.workers {
		if slices.Contains(wk.Classes, c) {
			return true
		}
	}
	return false
}

// replaceCancels puts runs that are to be cancelled where they belong now that a worker has come or gone: their code is known, or no longer.
func (w *World) replaceCancels(wk *worker, n *notices) {
	var moved []*run
	look := func(l *partition) {
		for _, e := range l.items {
			if e.run.cancels > 0 {
				moved = append(moved, e.run)
			}
		}
	}
	for _, c := range wk.Classes {
		for _, partitions := range []*[rules.Priorities]*partition{w.cancels[c], w.partitions[c]} {
			if partitions != nil {
				for _, l := range partitions {
					look(l)
				}
			}
		}
	}
	for _, r := range moved {
		w.place(r, n)
	}
}

// partitionOf is the partition of the run's class and priority, among all of them.
func partitionOf(all map[world.Class]*[rules.Priorities]*partition, r *run) *partition {
	class := r.class()
	partitions := all[class]
	if partitions == nil {
		partitions = new([rules.Priorities]*partition)
		for p := range partitions {
			partitions[p] = &partition{workflow: class.Workflow, priority: p}
		}
		all[class] = partitions
	}
	return partitions[r.birth.Priority]
}

// partitionsFor are those from which a worker with some classes claims runs, and, if it takes any, those of cancels.
func (w *World) partitionsFor(classes []world.Class, cancels bool) (partitions []*partition) {
	if cancels {
		for _, l := range w.cancels {
			partitions = append(partitions, l[:]...)
		}
	}
	for _, c := range classes {
		if l := w.partitions[c]; l != nil {
			partitions = append(partitions, l[:]...)
		}
	}
	return partitions
}

func (r *run) class() world.Class { return world.Class{Workflow: r.birth.Workflow, Version: r.version} }
