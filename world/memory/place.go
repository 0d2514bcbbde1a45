// Where a run stands in the queue. This is the one place that says when a run is runnable.

package memory

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
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
	due := r.wakeAt
	switch {
	case r.end != nil || r.owner != nil:
		return nil, time.Time{}
	case r.cancels > 0 && r.status == world.Running && r.blocked == nil && w.known(r.class()): // its code has to clean up
		return w.laneOf(r), r.asked()
	case r.cancels > 0:
		return w.cancels[r.birth.Priority], r.asked()
	case r.paused && !r.waits(world.RunResumed):
		return nil, time.Time{}
	case r.blocked == nil && r.status == world.Running && len(r.inbox) > 0:
		if at := r.inbox[0].at; due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if due.IsZero() {
		return nil, time.Time{}
	}
	return w.laneOf(r), due
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
			if e.run.cancels > 0 && slices.Contains(wk.Classes, e.run.class()) {
				moved = append(moved, e.run)
			}
		}
	}
	for _, l := range w.cancels {
		look(l)
	}
	for _, c := range wk.Classes {
		if lanes := w.lanes[c]; lanes != nil {
			for _, l := range lanes {
				look(l)
			}
		}
	}
	for _, r := range moved {
		w.place(r, n)
	}
}

// laneOf is the lane of the run's class and priority.
func (w *World) laneOf(r *run) *lane {
	class := r.class()
	lanes := w.lanes[class]
	if lanes == nil {
		lanes = new([priorities]*lane)
		for p := range lanes {
			lanes[p] = &lane{workflow: class.Workflow, priority: p}
		}
		w.lanes[class] = lanes
	}
	return lanes[r.birth.Priority]
}

func (r *run) class() world.Class { return world.Class{Workflow: r.birth.Workflow, Version: r.version} }
