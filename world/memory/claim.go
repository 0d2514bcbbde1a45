// Claim: runs and tasks for a worker.

package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Claim gives runnable runs and ready tasks to a worker; see [world.Queue].
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	if err := w.enter(ctx); err != nil {
		return world.Claimed{}, err
	}
	var n notices
	t, err := w.claimLocked(q, &n)
	w.mu.Unlock()
	w.tell(&n)
	return t, err
}

func (w *World) claimLocked(q world.ClaimQuery, n *notices) (world.Claimed, error) {
	out := world.Claimed{Now: w.now()}
	w.expire(out.Now, n)
	wk := w.workers[q.Worker]
	if wk == nil {
		return world.Claimed{}, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	w.limits.wake(n)
	defer w.limits.shut()
	now := out.Now.UnixMicro()
	if q.Run != "" {
		w.claimOnly(&q, wk, &out, n)
		return out, nil
	}

	partitions := w.partitionsFor(q.Classes, q.Runs > 0)
	for len(out.Runs) < q.Runs {
		e := w.pick(partitions, now)
		if e == nil {
			break
		}
		if !w.limits.seek(e.run, slices.Contains(q.Classes, e.run.class()), n) {
			continue // it is in a line now
		}
		w.serve(e)
		out.Runs = append(out.Runs, w.giveRun(e.run, wk, n))
	}
	more, next := waiting(partitions, now)

	partitions = nil
	for _, name := range q.Steps {
		partitions = append(partitions, w.taskPartitions[name]...)
	}
	for len(out.Tasks) < q.Tasks {
		e := w.pick(partitions, now)
		if e == nil {
			break
		}
		if !w.limits.seekTask(e.task, n) {
			continue // it is in a line now
		}
		w.serve(e)
		out.Tasks = append(out.Tasks, w.giveTask(e.task, wk, out.Now, n))
	}
	moreTasks, nextTask := waiting(partitions, now)

	out.More = more || moreTasks
	if next == 0 || nextTask != 0 && nextTask < next {
		next = nextTask
	}
	out.Next = w.nextLeaseEnd(wk, next)
	if at := w.limits.next(); !at.IsZero() && (out.Next.IsZero() || at.Before(out.Next)) {
		out.Next = at
	}
	return out, nil
}

// claimOnly gives the one run or task that is asked for, if it is ready. That is no turn of its workflow.
func (w *World) claimOnly(q *world.ClaimQuery, wk *worker, out *world.Claimed, n *notices) {
	r := w.runs[q.Run]
	if r == nil {
		return
	}
	ready := func(e *entry) bool { return e.partition != nil && e.due <= out.Now.UnixMicro() }
	if q.Step == "" {
		if q.Runs > 0 && ready(&r.entry) && slices.Contains(w.partitionsFor(q.Classes, true), r.entry.partition) &&
			w.limits.seek(r, slices.Contains(q.Classes, r.class()), n) {
			r.entry.move(nil, 0)
			out.Runs = append(out.Runs, w.giveRun(r, wk, n))
		}
		return
	}
	if t := r.tasks[q.Step]; t != nil && q.Tasks > 0 && ready(&t.entry) && slices.Contains(q.Steps, t.Name) && w.limits.seekTask(t, n) {
		t.entry.move(nil, 0)
		out.Tasks = append(out.Tasks, w.giveTask(t, wk, out.Now, n))
	}
}

// giveRun makes the worker the run's owner.
func (w *World) giveRun(r *run, wk *worker, n *notices) world.ClaimedRun {
	w.limits.claimed(r, n)
	r.claim++
	r.owner, r.claimed = wk, r.seq
	wk.runs[r] = struct{}{}
	w.counters.Claims++
	t := world.ClaimedRun{
		Run: r.id, Claim: r.claim, Class: r.class(), Status: r.status, Priority: r.birth.Priority, Seq: r.seq, Segment: r.segment,
		Paused: r.paused && !r.waits(world.RunResumed), Mail: r.letters(), Strikes: r.strikes,
	}
	if r.blocked != nil {
		b := *r.blocked
		t.Blocked = &b
	}
	return t
}

// nextLeaseEnd is the time to look again: what is due next, or before that the end of the lease of another worker that
// holds something, should it not send a heartbeat until then.
func (w *World) nextLeaseEnd(me *worker, due int64) time.Time {
	var next time.Time
	if due != 0 {
		next = time.UnixMicro(due).UTC()
	}
	for _, wk := range w.workers {
		if wk != me && len(wk.runs)+len(wk.tasks) > 0 && (next.IsZero() || wk.until.Before(next)) {
			next = wk.until
		}
	}
	return next
}
