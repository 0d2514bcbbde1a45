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

// Claim gives runnable runs and ready tasks to a worker; see [world.Queue]. Without work it is one
// read.
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	if ctx.Err() != nil {
		return world.Claimed{}, context.Cause(ctx)
	}
	if err := w.know(ctx, q.Worker); err != nil {
		return world.Claimed{}, err
	}
	now, steady := w.crew.times()
	wk := w.crew.worker(q.Worker)
	if wk == nil {
		if w.isClosed() {
			return world.Claimed{}, world.ErrClosed
		}
		return world.Claimed{}, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	classes, steps, err := claimArgs(&q)
	if err != nil {
		return world.Claimed{}, err
	}
	if q.Run != "" {
		return w.give(ctx, q, classes, steps, q.Step == "")
	}
	runsOnly := false
	if len(w.crew.expired(steady, q.Worker)) == 0 { // whoever asks is alive
		var fronts []front
		if err := w.read(ctx, func(c *conn) (err error) {
			fronts, err = readFronts(c, classes, steps, q.Runs > 0)
			return err
		}); err != nil {
			return world.Claimed{}, err
		}
		if !anyDue(fronts, now, &q) {
			return world.Claimed{Now: now, Next: w.crew.nextEnd(wk, nextDue(fronts, now)), More: more(fronts, now)}, nil
		}
		runsOnly = q.Tasks <= 0 || !slices.ContainsFunc(fronts, func(h front) bool { return h.kind == 1 && !h.due.After(now) })
	}
	if runsOnly {
		only := q
		only.Tasks = 0
		claimed, err := w.give(ctx, only, classes, steps, true)
		if err != nil || len(claimed.Runs) > 0 || !claimed.More || q.Tasks <= 0 {
			return claimed, err
		}
		// Nothing of what was seen is left, and something else is due: perhaps a task.
	}
	return w.give(ctx, q, classes, steps, false)
}

// give takes in a group. Where that can give runs alone, it is lazy, as nobody waits for the disk to own a run:
// the run's first commit makes the claim durable with itself, and no body starts before. A task's claim is the
// start of its body, which waits.
func (w *World) give(ctx context.Context, q world.ClaimQuery, classes, steps string, lazy bool) (world.Claimed, error) {
	type answer struct {
		claimed world.Claimed
		dead    error // a worker that learns of its end: the end stands
	}
	a, err := askFor(ctx, w, lazy, func(g *group) (a answer, err error) {
		if a.claimed, err = g.claim(&q, classes, steps); errors.Is(err, world.ErrLeaseLost) {
			a.dead, err = err, nil
		}
		return a, err
	})
	return a.claimed, cmp.Or(err, a.dead)
}

func claimArgs(q *world.ClaimQuery) (classes, steps string, err error) {
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

// rateKey is the kind of a front that is a key of a rate, to be looked at.
const rateKey = 3

// hiddenAt is when tasks are due that stand in line.
var hiddenAt = time.UnixMicro(hidden).UTC()

// front is what is first in one partition: a class and priority; a step, priority and workflow; or the runs to be
// cancelled.
type front struct {
	kind     int64 // 0: runs, 1: tasks, 2: cancels, or rateKey
	class    int64
	name     string
	priority int64
	due      time.Time
	workflow string // of tasks
}

func readFronts(c *conn, classes, steps string, cancels bool) (fronts []front, err error) {
	err = c.query(ready, func(r row) (bool, error) {
		h := front{kind: r.int(0), class: r.int(1), name: r.text(1), priority: r.int(2), due: r.time(3), workflow: r.text(4)}
		if !h.due.IsZero() && !h.due.Equal(hiddenAt) && (h.kind != 2 || cancels) {
			fronts = append(fronts, h)
		}
		return true, nil
	}, classes, steps)
	return fronts, err
}

func anyDue(fronts []front, now time.Time, q *world.ClaimQuery) bool {
	return slices.ContainsFunc(fronts, func(h front) bool {
		room := q.Runs
		switch h.kind {
		case 1:
			room = q.Tasks
		case rateKey:
			room = max(q.Runs, q.Tasks)
		}
		return room > 0 && !h.due.After(now)
	})
}

func more(fronts []front, now time.Time) bool {
	return slices.ContainsFunc(fronts, func(h front) bool { return !h.due.After(now) })
}

// nextDue is when what is due next is.
func nextDue(fronts []front, now time.Time) (next time.Time) {
	for _, h := range fronts {
		if h.due.After(now) && (next.IsZero() || h.due.Before(next)) {
			next = h.due
		}
	}
	return next
}

// claim gives what is due. It is in the write transaction: what it sees is so.
func (g *group) claim(q *world.ClaimQuery, classes, steps string) (out world.Claimed, err error) {
	if err := g.workers.buryExpired(q.Worker); err != nil {
		return out, err
	}
	wk := g.workers.alive(q.Worker)
	if wk == nil {
		return out, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	out.Now = g.tx.now()
	defer g.queue.limits.shut()
	if err := g.queue.limits.wake(); err != nil {
		return out, err
	}
	if q.Run != "" {
		err = g.claimOnly(q, wk, classes, steps, &out)
		return out, err
	}
	fronts, err := readFronts(g.tx.conn(), classes, steps, q.Runs > 0)
	if err != nil {
		return out, err
	}
	if out.Runs, err = g.queue.claim(q.Runs, wk, fronts, classes); err != nil {
		return out, err
	}
	tasks, err := g.queue.pick(fronts, q.Tasks, true, classes)
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
	if fronts, err = readFronts(g.tx.conn(), classes, steps, q.Runs > 0); err != nil {
		return out, err
	}
	out.More, out.Next = more(fronts, g.tx.now()), g.workers.nextEnd(wk, nextDue(fronts, g.tx.now()))
	return out, nil
}
