// Tasks: steps that are queued for any worker.

package memory

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

type task struct {
	world.Task // Attempt, First and Failures as of now; History includes the attempt that runs
	run        *run
	holder     *worker
	entry      entry
	placed     *placed   // what it has of the places that it needs; nil: it needs none
	asked      time.Time // when its step was
}

// retrying reports whether a task has failed, and nobody holds it.
func (r *run) retrying() bool {
	for _, t := range r.tasks {
		if t.holder == nil && t.Failures+t.Abandoned > 0 {
			return true
		}
	}
	return false
}

func (t *task) heldBy(worker string, attempt int) bool {
	return t.holder != nil && t.holder.ID == worker && t.Attempt == attempt
}

// writeTasks makes a commit's new tasks and deletes those that it ends or drops.
func (w *World) writeTasks(c *world.Commit, r *run, n *notices) {
	for _, k := range c.Held {
		w.dropTask(r, k.Step, n)
	}
	for _, k := range c.Dropped {
		w.dropTask(r, k.Step, n)
	}
	for i := range c.Tasks {
		t := &task{Task: c.Tasks[i], run: r}
		t.Run, t.Worker, t.Attempt, t.History, t.First, t.Failures, t.Abandoned = r.id, "", 0, nil, time.Time{}, 0, 0
		if t.Workflow == "" {
			t.Workflow = r.birth.Workflow
		}
		w.row++
		t.entry = entry{task: t, order: w.row}
		w.dropTask(r, t.Step, n)
		if r.tasks == nil {
			r.tasks = make(map[string]*task)
		}
		r.tasks[t.Step] = t
		t.placed, t.Places, t.asked = w.limits.needs(t.Places, world.SaidLimit{Steps: true}), nil, w.now()
		if t.Visible.IsZero() {
			t.Visible = t.asked
		}
		if c.Tasks[i].Worker != "" {
			w.giveTask(t, r.ownerOr(w, c.Worker), w.now(), n)
			continue
		}
		w.placeTask(t, n)
	}
}

func (r *run) ownerOr(w *World, id string) *worker {
	if r.owner != nil {
		return r.owner
	}
	return w.workers[id]
}

// placeTask puts a task that nobody holds into its partition, or, where it is ready and lacks a place, into line.
func (w *World) placeTask(t *task, n *notices) {
	if t.Visible.After(w.now()) || w.limits.seekTask(t, n) {
		t.show(w, n)
	}
}

// show puts a task that nobody holds into its partition.
func (t *task) show(w *World, n *notices) {
	var l *partition
	for _, x := range w.taskPartitions[t.Name] {
		if x.workflow == t.Workflow && x.priority == t.Priority {
			l = x
		}
	}
	if l == nil {
		l = &partition{workflow: t.Workflow, priority: t.Priority}
		w.taskPartitions[t.Name] = append(w.taskPartitions[t.Name], l)
	}
	t.entry.move(l, t.Visible.UnixMicro())
	n.add(world.NoticeWork, t.Run)
}

// giveTask begins an attempt. The start is kept with the task: it is durable from here on.
func (w *World) giveTask(t *task, wk *worker, now time.Time, n *notices) world.Task {
	w.limits.payTask(t, n)
	t.holder, t.Worker = wk, wk.ID
	wk.tasks[t] = struct{}{}
	t.Attempt++
	out := t.Task
	out.History = slices.Clone(t.History)
	if t.First.IsZero() {
		t.First = now
	}
	t.remember(world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, Time: now, Build: wk.Build})
	return out
}

func (t *task) remember(e world.Event) { t.History = world.RememberAttempt(t.History, e, t.Attempt) }

func (w *World) dropTask(r *run, step string, n *notices) {
	t := r.tasks[step]
	if t == nil {
		return
	}
	delete(r.tasks, step)
	w.limits.restTask(t, true, n)
	t.entry.move(nil, 0)
	if t.holder != nil {
		delete(t.holder.tasks, t)
		t.holder = nil
	}
}

func abandoned(e *world.Event) bool { return e.Error != nil && e.Error.Code == world.CodeAbandoned }

// taskEnd ends an attempt of a task: its events go to the inbox, or it is tried again later.
func (w *World) taskEnd(d *world.Delivery, n *notices) (world.Delivered, error) {
	k := d.Task
	r := w.runs[k.Run]
	if r == nil {
		return world.Delivered{}, fmt.Errorf("run %s: %w", k.Run, world.ErrNotFound)
	}
	if r.end != nil {
		return world.Delivered{}, over(r)
	}
	t := r.tasks[k.Step]
	if t != nil && d.GivesUp(&t.Task) {
		t.remember(d.Events[0])
		t.Abandoned++
		return world.Delivered{Run: r.id, Owner: r.ownerID()}, nil
	}
	if d.WakesTask() {
		return w.wakeTask(r, t, d, n)
	}
	if d.ExpiresTask() {
		done := world.Delivered{Run: r.id, Owner: r.ownerID(), Duplicate: t == nil || !d.ExpiresNow(&t.Task)}
		if !done.Duplicate {
			w.counters.Deliveries++
			w.dropTask(r, k.Step, n)
			w.put(r, mail{id: d.ID, events: slices.Clone(d.Events)}, n)
		}
		return done, nil
	}
	if t == nil || !t.heldBy(d.Worker, k.Attempt) {
		return world.Delivered{}, fmt.Errorf("run %s: task %s, attempt %d: %w", k.Run, k.Step, k.Attempt, world.ErrLeaseLost)
	}
	if err := w.apart.check(k.Run, "", d.Events); err != nil {
		return world.Delivered{}, err
	}
	w.counters.Deliveries++
	if d.RetryAt.IsZero() {
		w.dropTask(r, k.Step, n)
		w.put(r, mail{id: d.ID, events: slices.Clone(d.Events)}, n)
		return world.Delivered{Run: r.id, Owner: r.ownerID()}, nil
	}
	e := d.Events[0]
	t.remember(e)
	if abandoned(&e) {
		t.Abandoned++
	} else {
		t.Failures++
	}
	delete(t.holder.tasks, t)
	t.holder, t.Worker, t.Visible = nil, "", d.RetryAt
	w.limits.restTask(t, false, n)
	w.placeTask(t, n)
	return world.Delivered{Run: r.id, Owner: r.ownerID()}, nil
}

// wakeTask makes a task visible that waits for its next attempt; t is nil where there is none.
func (w *World) wakeTask(r *run, t *task, d *world.Delivery, n *notices) (world.Delivered, error) {
	done := world.Delivered{Run: r.id, Owner: r.ownerID(), Duplicate: t == nil || !d.WakesNow(&t.Task, w.now())}
	if !done.Duplicate {
		w.counters.Deliveries++
		e := d.Events[0]
		t.remember(e)
		t.Visible = w.now()
		w.placeTask(t, n)
	}
	return done, nil
}
