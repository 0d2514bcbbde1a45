// Where a run stands in the queue. This is the one place that says when a run is runnable.

package memory

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// place puts a run into the lane where it can be taken, or into none, and tells when it moved.
func (w *World) place(r *run, n *notices) {
	lane, due := w.standing(r)
	var at int64
	if lane != nil {
		at = due.UnixMicro()
	}
	if r.entry.move(lane, at) && lane != nil {
		n.add(world.NoticeWork, r.id)
	}
}

// standing is the lane of a run and the time from which it can be taken; nil: it cannot.
func (w *World) standing(r *run) (*lane, time.Time) {
	if r.end != nil || r.owner != nil {
		return nil, time.Time{}
	}
	due := r.due()
	if r.cancels > 0 {
		due = sooner(due, r.asked())
		if r.status != world.Running || r.blocked != nil || !w.known(r.class()) { // else its code has to clean up
			return laneOf(w.cancels, r), due
		}
	}
	if due.IsZero() {
		return nil, time.Time{}
	}
	return laneOf(w.lanes, r), due
}

// due is when a run that nobody owns can be taken, but for a cancel; zero: nothing wakes it. A cancel can only bring it forward.
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
	look := func(l *lane) {
		for _, e := range l.items {
			if e.run.cancels > 0 {
				moved = append(moved, e.run)
			}
		}
	}
	for _, c := range wk.Classes {
		for _, lanes := range []*[rules.Priorities]*lane{w.cancels[c], w.lanes[c]} {
			if lanes != nil {
				for _, l := range lanes {
					look(l)
				}
			}
		}
	}
	for _, r := range moved {
		w.place(r, n)
	}
}

// laneOf is the lane of the run's class and priority, among all of them.
func laneOf(all map[world.Class]*[rules.Priorities]*lane, r *run) *lane {
	class := r.class()
	lanes := all[class]
	if lanes == nil {
		lanes = new([rules.Priorities]*lane)
		for p := range lanes {
			lanes[p] = &lane{workflow: class.Workflow, priority: p}
		}
		all[class] = lanes
	}
	return lanes[r.birth.Priority]
}

// lanesFor are those from which a worker with some classes takes runs, and, if it takes any, those of cancels.
func (w *World) lanesFor(classes []world.Class, cancels bool) (lanes []*lane) {
	if cancels {
		for _, l := range w.cancels {
			lanes = append(lanes, l[:]...)
		}
	}
	for _, c := range classes {
		if l := w.lanes[c]; l != nil {
			lanes = append(lanes, l[:]...)
		}
	}
	return lanes
}

func (r *run) class() world.Class { return world.Class{Workflow: r.birth.Workflow, Version: r.version} }
