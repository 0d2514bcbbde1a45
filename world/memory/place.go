// Where a run stands in the queue. This is the one place that says when a run is runnable.

package memory

import (
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
