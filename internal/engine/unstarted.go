package engine

// Steps that no worker begins in time. The latest start is in the log, with the step; the run is due then, and its session asks the store to end a queued step
// that nobody has begun: the store decides, so that no worker begins it and finds it failed.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// beginsBy records until when a step is to begin, where its policy says so.
func beginsBy(e *world.Event, p *Policy) {
	if p.Queue > 0 {
		e.Until = world.After(e.Time, p.Queue)
	}
}

// timeStart sets the timer of a step that is to begin in time.
func (t *timers) timeStart(st *world.Step) {
	if unbegunStep(st) {
		t.add(st.Until, st.ID, false, st.Created)
	}
}

// unbegunStep reports whether a step is to begin in time, and has not as far as its run's log says.
func unbegunStep(st *world.Step) bool {
	return st != nil && !st.Until.IsZero() && st.Attempts == 0 && st.Status == world.StepPending
}

// expire ends a step that is late to begin, unless it has.
func (w *steps) expire(step string, at time.Time, durable int64) {
	st := w.course.state().Step(step)
	if w.course.blocked() || !unbegunStep(st) || w.bodies.of(step) != nil || w.bodies.isStarting(step) || w.turn.ends(step) {
		return
	}
	if st.Queued && st.Created > durable { // the turn that queues it took longer than that: behind its commit
		w.timers.add(at, step, false, st.Created)
		return
	}
	rec := notStarted(w.e.workCtx, w.e.cfg.World, st, w.course.state().Birth.Workflow)
	if !st.Queued {
		w.course.result(world.Event{Type: world.StepFailed, ID: step, OccurredAt: at, Error: rec})
		return
	}
	_, err := w.e.cfg.World.Deliver(w.e.workCtx, &world.Delivery{
		Run: w.own.run, Task: &world.TaskKey{Run: w.own.run, Step: step},
		Events: []world.Event{{Type: world.StepFailed, ID: step, OccurredAt: at, Error: rec}},
	}) // it comes back as mail; or the step has begun
	if err != nil && !final(err) && !errors.Is(err, context.Canceled) {
		w.timers.add(w.course.now().Add(retryPause(0)), step, false, st.Created)
	}
}

// notStarted says that no worker began a step in time, and why that can be.
func notStarted(ctx context.Context, w world.Admin, st *world.Step, workflow string) *world.Error {
	return &world.Error{Code: world.CodeNotStarted, Message: fmt.Sprintf("no worker began step %q in time: %s", st.Key, whyNotStarted(ctx, w, st, workflow))}
}

func whyNotStarted(ctx context.Context, from world.Admin, st *world.Step, workflow string) string {
	stats, err := from.Stats(ctx)
	if err != nil {
		return "the list of workers could not be read: " + err.Error()
	}
	var live, able, tasks int
	for i := range stats.Workers {
		w := &stats.Workers[i]
		if !w.Until.After(stats.Now) {
			continue
		}
		live++
		has := slices.ContainsFunc(w.Classes, func(c world.Class) bool { return c.Workflow == workflow })
		if st.Queued {
			has = slices.Contains(w.Steps, st.Key.Name)
		}
		if has {
			able++
			tasks += w.Tasks
		}
	}
	if able == 0 {
		return fmt.Sprintf("none of the %d live workers has it; deploy one that does", live)
	}
	return fmt.Sprintf("%d of the %d live workers could run it, but had no free step slot, or were shutting down; they hold %d queued steps", able, live, tasks)
}
