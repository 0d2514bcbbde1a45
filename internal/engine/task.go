package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

// runTask runs one attempt of a registered step that was queued. It holds a step slot. home is the session that queued it and still waits, or nil.
func (e *Engine) runTask(t world.Task, home *mailbox, b *body) {
	def := e.code.step(t.Name)
	info := StepInfo{Run: t.Run, Workflow: t.Workflow, Step: t.Step, Name: t.Name, Attempt: t.Attempt, IdempotencyKey: t.Step}
	b.task = &t
	b.sit(e, info, home)
	policy := taskPolicy(def.Policy, t.Options)
	b.policy, b.started = &policy, e.clock.now()
	if home == nil && b.quarantined {
		b.seat.quit = func() { b.cancel(errGaveWay) }
	}
	e.holdings.hold(taskKey{t.Run, t.Step}, &heldTask{attempt: t.Attempt, worker: t.Worker, cancel: b.cancel})
	b.timeout, b.silence, b.run, b.input = b.policy.Timeout, b.policy.Heartbeat, def.Run, t.Input
	if b.policy.Tx {
		b.run = e.inTx(def.Run, &b.tx)
	}
	b.run = whole(e, b.run, t.Run, world.TaskApart(t.Options))
	e.watchTask(b)
	b.start((*taskBody)(b))
}

// taskBody is a body of a task.
type taskBody body

// end tells whoever waits for it what the body came to.
func (b *taskBody) end(r *result) {
	e := b.seat.e
	e.live.Add(-1)
	r.at, r.tx = e.clock.now(), b.tx
	if b.after != nil {
		defer b.after()
	}
	defer b.ctx.cancel(nil)
	defer b.seat.give(false, r.alone)
	e.endTask(&b.ctx, b.task, b.seat.home, *b.policy, world.Event{
		Type: world.StepStarted, ID: b.task.Step, Attempt: b.task.Attempt, OccurredAt: b.started,
	}, *r)
}

// startTasks runs the tasks that were claimed, but for those that ended their process too often. Those in quarantine that have to wait for another one go back to the queue; that is
// durable before any of the tasks begins, as whatever begins may end the process, and claiming a task was the start of an attempt. ended is called when what a task
// came to is durable, once for each; nil: nobody asks. place says that the place in quarantine is kept for one of them.
func (e *Engine) startTasks(tasks []world.Task, ended func(), place bool) {
	if ended == nil {
		ended = func() {}
	}
	var back sync.WaitGroup
	var run []*world.Task
	var alone *world.Task
	for i := range tasks {
		t := &tasks[i]
		if t.Damage != "" {
			back.Go(func() { e.refuseDamaged(t); ended() })
			continue
		}
		if why := e.unfit(t); why != "" {
			back.Go(func() {
				if broken := e.changed(e.workCtx, t); broken != nil {
					e.failTask(t, broken)
				} else {
					e.returnUnfit(t, why)
				}
				ended()
			})
			continue
		}
		if t.Damage != "" { // its input is
			back.Go(func() { e.refuseDamaged(t); ended() })
			continue
		}
		switch n := taskDeaths(t); {
		case n < companyDeaths:
			run = append(run, t)
		case n >= companyDeaths+aloneDeaths:
			back.Go(func() { e.failTask(t, crashLoop("the step", n)); ended() })
		case alone == nil && (place || e.quarantine.try()):
			alone, place = t, false
		default:
			back.Go(func() { e.returnTask(t); ended() })
		}
	}
	back.Wait()
	e.giveBack(place)
	for _, t := range run {
		e.runTask(*t, nil, &body{step: t.Step, attempt: t.Attempt, after: ended})
	}
	if alone != nil {
		e.runTask(*alone, nil, &body{step: alone.Step, attempt: alone.Attempt, quarantined: true, after: ended})
	}
}

// failTask ends a task that is not run any more. Its step slot is free again.
func (e *Engine) failTask(t *world.Task, why *world.Error) {
	defer e.steps.release(1)
	now := e.clock.now()
	d := e.taskDelivery(t)
	d.Events = append(append(d.Events, t.History...),
		world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, OccurredAt: now},
		world.Event{Type: world.StepFailed, ID: t.Step, Attempt: t.Attempt, Error: why, OccurredAt: now})
	_ = e.deliverTask(d)
}

// returnTask hands back one in quarantine for which there is no place. It waits in the queue, the longer the more often this happened: waiting holds no slot, and is not counted
// against it.
func (e *Engine) returnTask(t *world.Task) {
	defer e.steps.release(1)
	_ = e.deliverTask(e.abandonment(t, e.clock.now().Add(quarantineRest(t)), "another step that may have ended its process runs alone"))
}

func quarantineRest(t *world.Task) time.Duration {
	return quarantinePause<<min(t.Abandoned, 2) + rand.N(quarantinePause) // so that they do not all come at once
}

// abandonment gives an attempt of a task up.
func (e *Engine) abandonment(t *world.Task, retry time.Time, why string) *world.Delivery {
	d := e.taskDelivery(t)
	d.RetryAt = retry
	d.Events = []world.Event{{
		Type: world.StepRetrying, ID: t.Step, Attempt: t.Attempt, RetryAt: retry, OccurredAt: e.clock.now(), Error: abandoned(why),
	}}
	return d
}

// taskDelivery is about one attempt of a task that this worker holds, or held.
func (e *Engine) taskDelivery(t *world.Task) *world.Delivery {
	return &world.Delivery{
		Run: t.Run, ID: fmt.Sprintf("task:%s:%d", t.Step, t.Attempt), Worker: e.workerID(),
		Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt},
	}
}

// quarantinePause is how long one in quarantine rests when there is no place for it, about.
const quarantinePause = 200 * time.Millisecond

// taskPolicy is the definition's policy of today with what the call asked for.
func taskPolicy(p Policy, override []byte) Policy {
	if len(override) > 0 {
		_ = json.Unmarshal(override, &p) // it was encoded from a Policy; what does not parse changes nothing
	}
	return p.WithDefaults()
}

// endTask hands the outcome of an attempt to the run, or the task back to the queue for a retry.
func (e *Engine) endTask(ctx *stepContext, t *world.Task, home *mailbox, policy Policy, start world.Event, r result) {
	d := e.taskOutcome(t, policy, start, r)
	defer e.holdings.ending(taskKey{t.Run, t.Step}, t.Attempt)()
	if why := damagedInput(r.err); why != nil {
		t.Damage = why.Error()
		tellDamaged(e, t)
		if home != nil {
			home.post(message{kind: msgTaskEnded, at: r.at, step: t.Step})
		}
		if r.slot {
			e.steps.release(1)
		}
		return
	}
	if failed := d.Events[len(d.Events)-1].Type != world.StepCompleted; failed {
		r.streams = unclosed(r.streams, d.RetryAt.IsZero())
	}
	if r.tx != nil {
		e.appendRest(t, r.streams)
		r.streams = nil
		if e.endTaskInTx(cause(ctx), d, &r) {
			if r.slot {
				e.steps.release(1)
			}
			e.kick()
			if home != nil {
				home.post(message{kind: msgTaskEnded, at: r.at, step: t.Step})
			}
			return
		}
		d = e.taskOutcome(t, policy, start, r)
	}
	if home != nil && d.RetryAt.IsZero() {
		msg := message{kind: msgTaskEnded, at: r.at, step: t.Step, mail: &world.Mail{Events: d.Events}, task: t, result: &r}
		if home.post(msg) {
			return // its session gives the slot back
		}
	}
	e.appendRest(t, r.streams)
	if r.slot {
		defer e.steps.release(1)
	}
	switch why := cause(ctx); {
	case errors.Is(why, ErrRunOver):
		return // nobody waits for it
	case errors.Is(why, world.ErrLeaseLost): // somebody else has it, and takes this attempt for dead
		d = e.abandonment(t, e.clock.now(), "its worker lost its lease")
	}
	if err := e.deliverTask(d); errors.Is(err, world.ErrForbidden) && r.err == nil { // a large result
		r.err = fmt.Errorf("the result of the step, of %d bytes, could not be kept: %w", len(r.payload), err)
		_ = e.deliverTask(e.taskOutcome(t, policy, start, r))
	}
	if home != nil {
		home.post(message{kind: msgTaskEnded, at: r.at, step: t.Step})
	}
}

// deliverTask tells a run of an end of a task, until it is durable or cannot be.
func (e *Engine) deliverTask(d *world.Delivery) error {
	for try := 0; ; try++ {
		_, err := e.cfg.World.Deliver(e.workCtx, d)
		switch {
		case err == nil:
			e.kick() // whoever finishes a task claims the run and goes on in place
			return nil
		case final(err) || errors.Is(err, world.ErrForbidden) || e.workCtx.Err() != nil:
			e.says.Warn("the result of a task was not accepted", slog.Attr{}, "run_id", d.Run, "step.id", d.Task.Step, "err", err,
				"hint", "It runs again, unless its run is over: its worker was considered dead, or the run has ended.")
			return err
		}
		if !pause(e.workCtx, retryPause(try)) {
			return err
		}
	}
}

// taskOutcome makes the delivery that ends an attempt. The events of all attempts travel with the result.
func (e *Engine) taskOutcome(t *world.Task, policy Policy, start world.Event, r result) *world.Delivery {
	d := e.taskDelivery(t)
	if r.err == nil {
		r.err = codec.CheckSize(r.payload, e.cfg.MaxValue)
	}
	end := world.Event{Type: world.StepCompleted, ID: t.Step, Attempt: t.Attempt, Payload: r.payload, OccurredAt: r.at}
	if r.err != nil {
		rec := e.recordOf(&r)
		end = world.Event{Type: world.StepFailed, ID: t.Step, Attempt: t.Attempt, Error: rec, OccurredAt: r.at}
		first := t.First
		if first.IsZero() {
			first = start.OccurredAt
		}
		now := e.clock.now()
		delay, again, contended := policy.verdict(r.asked(policy), t.Failures, t.Abandoned, first, now)
		if contended != nil {
			end.Error = contended
		}
		if errors.Is(r.cause, ErrDraining) {
			delay, again, end.Error = 0, true, abandoned("its worker shut down")
		}
		if errors.Is(r.cause, errGaveWay) {
			delay, again, end.Error = yieldPause(t.Abandoned), true, abandoned(waitsForRun)
		}
		if errors.Is(r.cause, ErrCancelled) || errors.Is(r.cause, ErrRunOver) || errors.Is(r.cause, ErrScope) {
			again = false
		}
		if again {
			end.Type, end.RetryAt = world.StepRetrying, world.After(now, delay)
			d.RetryAt = end.RetryAt
			d.Events = []world.Event{end}
			return d
		}
		rec.Permanent, end.Error = r.asked(policy).Permanent, rec
	}
	d.Events = append(append(d.Events, t.History...), start, end)
	return d
}

// abandonTasks hands back the tasks whose bodies do not return though the worker shuts down, so that they do not count as deaths.
func (e *Engine) abandonTasks() {
	for _, k := range e.holdings.taskKeys() {
		t := &world.Task{Run: k.Run, Step: k.Step, Attempt: k.Attempt}
		_ = e.deliverTask(e.abandonment(t, e.clock.now(), "its worker shut down and it did not return"))
	}
}

// handleTaskEnd records the end of a task that this worker held for its own session, without a trip through the inbox.
func (w *steps) handleTaskEnd(msg *message) {
	w.bodies.remove(msg.step)
	if msg.task == nil {
		return // it went back to the queue; its slot with it
	}
	w.bodies.returned(msg)
	if w.course.state().Step(msg.step) == nil {
		w.turn.drop(world.TaskKey{Run: w.own.run, Step: msg.step})
		return
	}
	w.turn.end(world.TaskKey{Run: w.own.run, Step: msg.step, Attempt: msg.task.Attempt})
	w.turn.addStreams(msg.result.streams...)
	for _, e := range msg.mail.Events {
		w.course.placeTask(&e)
		w.course.result(e)
	}
}
