package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	ready      = load("ready")
	readyRuns  = load("ready_runs")
	cancelRuns = load("cancel_runs")
	readyTasks = load("ready_tasks")
)

// Take gives runnable runs and ready tasks to a worker; see [world.Queue]. Where there is nothing it is one statement, on a connection for
// reading.
func (w *World) Take(ctx context.Context, q world.TakeQuery) (world.Taken, error) {
	if ctx.Err() != nil {
		return world.Taken{}, context.Cause(ctx)
	}
	if err := w.know(ctx, q.Worker); err != nil {
		return world.Taken{}, err
	}
	now, steady := w.crew.times()
	wk := w.crew.worker(q.Worker)
	if wk == nil {
		if w.isClosed() {
			return world.Taken{}, world.ErrClosed
		}
		return world.Taken{}, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	classes, steps, err := takeArgs(&q)
	if err != nil {
		return world.Taken{}, err
	}
	if q.Run != "" {
		return w.give(ctx, q, classes, steps, q.Step == "")
	}
	runsOnly := false
	if len(w.crew.expired(steady, q.Worker)) == 0 { // whoever asks is alive
		var heads []head
		if err := w.read(ctx, func(c *conn) (err error) {
			heads, err = readHeads(c, classes, steps, q.Runs > 0)
			return err
		}); err != nil {
			return world.Taken{}, err
		}
		if !anyDue(heads, now, &q) {
			return world.Taken{Now: now, Next: w.crew.nextEnd(wk, nextDue(heads, now)), More: more(heads, now)}, nil
		}
		runsOnly = q.Tasks <= 0 || !slices.ContainsFunc(heads, func(h head) bool { return h.kind == 1 && !h.due.After(now) })
	}
	if runsOnly {
		only := q
		only.Tasks = 0
		taken, err := w.give(ctx, only, classes, steps, true)
		if err != nil || len(taken.Runs) > 0 || !taken.More || q.Tasks <= 0 {
			return taken, err
		}
		// Nothing of what was seen is left, and something else is due: perhaps a task.
	}
	return w.give(ctx, q, classes, steps, false)
}

// give takes in a group. Where that can give runs alone, it is lazy, as nobody waits for the disk to own a run: the run's first commit makes the
// take durable with itself, and no body starts before. A task's take is the start of its body, which waits.
func (w *World) give(ctx context.Context, q world.TakeQuery, classes, steps string, lazy bool) (world.Taken, error) {
	type answer struct {
		taken world.Taken
		dead  error // a worker that learns of its end: the end stands
	}
	a, err := askFor(ctx, w, lazy, func(g *group) (a answer, err error) {
		if a.taken, err = g.take(&q, classes, steps); errors.Is(err, world.ErrLeaseLost) {
			a.dead, err = err, nil
		}
		return a, err
	})
	return a.taken, cmp.Or(err, a.dead)
}

func takeArgs(q *world.TakeQuery) (classes, steps string, err error) {
	pairs := make([][2]any, len(q.Classes))
	for i, c := range q.Classes {
		pairs[i] = [2]any{c.Workflow, c.Version}
	}
	a, err := json.Marshal(pairs)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(append([]string{}, q.Steps...))
	return string(a), string(b), err
}

// head is what is first in one lane: a class and priority; a step, priority and workflow; or the runs to be cancelled.
type head struct {
	kind     int64 // 0: runs, 1: tasks, 2: cancels
	class    int64
	name     string
	priority int64
	due      time.Time
	workflow string // of tasks
}

func readHeads(c *conn, classes, steps string, cancels bool) (heads []head, err error) {
	err = c.query(ready, func(r row) (bool, error) {
		h := head{kind: r.int(0), class: r.int(1), name: r.text(1), priority: r.int(2), due: r.time(3), workflow: r.text(4)}
		if !h.due.IsZero() && (h.kind != 2 || cancels) {
			heads = append(heads, h)
		}
		return true, nil
	}, classes, steps)
	return heads, err
}

func anyDue(heads []head, now time.Time, q *world.TakeQuery) bool {
	return slices.ContainsFunc(heads, func(h head) bool {
		room := q.Runs
		if h.kind == 1 {
			room = q.Tasks
		}
		return room > 0 && !h.due.After(now)
	})
}

func more(heads []head, now time.Time) bool {
	return slices.ContainsFunc(heads, func(h head) bool { return !h.due.After(now) })
}

// nextDue is when what is due next is.
func nextDue(heads []head, now time.Time) (next time.Time) {
	for _, h := range heads {
		if h.due.After(now) && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// take gives what is due. It is in the write transaction: what it sees is so.
func (g *group) take(q *world.TakeQuery, classes, steps string) (out world.Taken, err error) {
	if err := g.workers.buryExpired(q.Worker); err != nil {
		return out, err
	}
	wk := g.workers.alive(q.Worker)
	if wk == nil {
		return out, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	out.Now = g.tx.now()
	if q.Run != "" {
		err = g.takeOnly(q, wk, classes, steps, &out)
		return out, err
	}
	heads, err := readHeads(g.tx.conn(), classes, steps, q.Runs > 0)
	if err != nil {
		return out, err
	}
	runs, err := g.queue.pick(heads, q.Runs, false, classes)
	if err != nil {
		return out, err
	}
	for _, key := range runs {
		t, err := g.queue.give(key, wk)
		if err != nil {
			return out, err
		}
		if t.Run != "" {
			out.Runs = append(out.Runs, t)
		}
	}
	tasks, err := g.queue.pick(heads, q.Tasks, true, classes)
	if err != nil {
		return out, err
	}
	for _, key := range tasks {
		t, err := g.tasks.give(key, wk)
		if err != nil {
			return out, err
		}
		if t.Run != "" {
			out.Tasks = append(out.Tasks, t)
		}
	}
	if heads, err = readHeads(g.tx.conn(), classes, steps, q.Runs > 0); err != nil {
		return out, err
	}
	out.More, out.Next = more(heads, g.tx.now()), g.workers.nextEnd(wk, nextDue(heads, g.tx.now()))
	return out, nil
}
