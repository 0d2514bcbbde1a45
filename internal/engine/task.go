package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

// taskKey names a task that runs on this worker.
type taskKey struct{ run, step string }

// heldTask is a task that runs on this worker.
type heldTask struct {
	attempt int
	cancel  context.CancelCauseFunc
}

// runTask runs one attempt of a registered step that was queued. It holds a step slot. home is the session that queued it and still waits, or nil.
func (e *Engine) runTask(t world.Task, home *session, b *body) {
	def := e.stepsByName[t.Name]
	ctx, cancel := context.WithCancelCause(e.bodyCtx)
	if b != nil {
		b.cancel = cancel
	}
	e.mu.Lock()
	e.tasks[taskKey{t.Run, t.Step}] = &heldTask{t.Attempt, cancel}
	e.mu.Unlock()
	info := &StepInfo{Run: t.Run, Workflow: t.Workflow, Step: t.Step, Name: t.Name, Attempt: t.Attempt, IdempotencyKey: t.Step}
	policy := taskPolicy(def.Policy, t.Options)
	started := e.now()
	run := func(ctx context.Context) ([]byte, error) { return def.Run(ctx, t.Input) }
	e.bodies.Go(func() {
		attempt(ctx, info, policy.Timeout, run, func(r result) {
			defer cancel(nil)
			if b != nil && b.suspect {
				defer e.suspects.release(1)
			}
			e.endTask(ctx, &t, home, policy, world.Event{
				Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, OccurredAt: started,
			}, r)
		})
	})
}

// startTask runs a task that was taken, unless it ended its process too often, or is a suspect while another one runs: then it goes back to the queue.
func (e *Engine) startTask(t *world.Task) {
	n := taskDeaths(t)
	if n < companyDeaths {
		e.runTask(*t, nil, nil)
		return
	}
	start := world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, OccurredAt: e.now()}
	d := &world.Delivery{
		Run: t.Run, ID: fmt.Sprintf("task:%s:%d", t.Step, t.Attempt), Worker: e.workerID(),
		Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt},
	}
	switch {
	case n >= companyDeaths+aloneDeaths:
		end := world.Event{Type: world.StepFailed, ID: t.Step, Attempt: t.Attempt, Error: crashLoop("the step", n), OccurredAt: e.now()}
		d.Events = append(append(d.Events, t.History...), start, end)
	case e.suspects.try(1) == 1:
		e.runTask(*t, nil, &body{step: t.Step, task: t, attempt: t.Attempt, suspect: true})
		return
	default:
		d.RetryAt = e.now().Add(suspectPause)
		d.Events = []world.Event{{
			Type: world.StepRetrying, ID: t.Step, Attempt: t.Attempt, RetryAt: d.RetryAt, OccurredAt: e.now(),
			Error: abandoned("another step that may have ended its process runs alone"),
		}}
	}
	e.bodies.Go(func() {
		defer e.steps.release(1)
		e.deliverTask(d)
	})
}

// suspectPause is how long a suspect task rests when it is not its turn.
const suspectPause = 200 * time.Millisecond

// taskPolicy is the definition's policy of today with what the call asked for.
func taskPolicy(p Policy, override []byte) Policy {
	if len(override) > 0 {
		_ = json.Unmarshal(override, &p) // it was encoded from a Policy; what does not parse changes nothing
	}
	return p.WithDefaults()
}

// endTask hands the outcome of an attempt to the run, or the task back to the queue for a retry.
func (e *Engine) endTask(ctx context.Context, t *world.Task, home *session, policy Policy, start world.Event, r result) {
	d := e.taskOutcome(t, policy, start, r)
	e.mu.Lock()
	delete(e.tasks, taskKey{t.Run, t.Step})
	e.mu.Unlock()
	if home != nil && d.RetryAt.IsZero() {
		msg := message{kind: msgTaskEnded, at: r.at, step: t.Step, mail: world.Mail{Events: d.Events}, task: t}
		if home.post(msg) {
			return // its session gives the slot back
		}
	}
	defer e.steps.release(1)
	if cause := context.Cause(ctx); errors.Is(cause, world.ErrLeaseLost) || errors.Is(cause, ErrRunOver) {
		return // nobody waits for it, or somebody else has it
	}
	e.deliverTask(d)
	if home != nil {
		home.post(message{kind: msgTaskEnded, at: r.at, step: t.Step})
	}
}

func (e *Engine) deliverTask(d *world.Delivery) {
	for try := 0; ; try++ {
		_, err := e.cfg.World.Deliver(e.workCtx, d)
		switch {
		case err == nil:
			e.kick() // whoever finishes a task takes the run and goes on in place
			return
		case final(err) || e.workCtx.Err() != nil:
			e.cfg.Logger.Warn("a task's end was not accepted", "run", d.Run, "step", d.Task.Step, "err", err)
			return
		}
		if !pause(e.workCtx, retryPause(try)) {
			return
		}
	}
}

// taskOutcome makes the delivery that ends an attempt. The events of all attempts travel with the result.
func (e *Engine) taskOutcome(t *world.Task, policy Policy, start world.Event, r result) *world.Delivery {
	d := &world.Delivery{
		Run: t.Run, ID: fmt.Sprintf("task:%s:%d", t.Step, t.Attempt), Worker: e.workerID(),
		Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt},
	}
	if r.err == nil {
		r.err = codec.CheckSize(r.payload, e.cfg.Limit)
	}
	end := world.Event{Type: world.StepCompleted, ID: t.Step, Attempt: t.Attempt, Payload: r.payload, OccurredAt: r.at}
	if r.err != nil {
		rec := e.record(r.err)
		end = world.Event{Type: world.StepFailed, ID: t.Step, Attempt: t.Attempt, Error: rec, OccurredAt: r.at}
		first := t.First
		if first.IsZero() {
			first = start.OccurredAt
		}
		now := e.now()
		delay, again := policy.verdict(r.err, t.Failures+1, first, now)
		if errors.Is(r.cause, ErrDraining) {
			delay, again, end.Error = 0, true, abandoned("its worker shut down")
		}
		if errors.Is(r.cause, ErrCancelled) || errors.Is(r.cause, ErrRunOver) || errors.Is(r.cause, ErrScope) {
			again = false
		}
		if again {
			end.Type, end.RetryAt = world.StepRetrying, now.Add(delay)
			d.RetryAt = end.RetryAt
			d.Events = []world.Event{end}
			return d
		}
		rec.Permanent = isFatal(r.err)
	}
	d.Events = append(append(d.Events, t.History...), start, end)
	return d
}

// abandonTasks hands back the tasks whose bodies do not return though the worker shuts down, so that they do not count as deaths.
func (e *Engine) abandonTasks() {
	for _, k := range e.taskKeys() {
		now := e.now()
		d := &world.Delivery{
			Run: k.Run, ID: fmt.Sprintf("task:%s:%d", k.Step, k.Attempt), Worker: e.workerID(), Task: &k, RetryAt: now,
			Events: []world.Event{{
				Type: world.StepRetrying, ID: k.Step, Attempt: k.Attempt, RetryAt: now, OccurredAt: now,
				Error: abandoned("its worker shut down and it did not return"),
			}},
		}
		e.deliverTask(d)
	}
}

// handleTaskEnd records the end of a task that this worker held for its own session, without a trip through the inbox.
func (s *session) handleTaskEnd(msg *message) {
	delete(s.bodies, msg.step)
	if msg.task == nil {
		return // it went back to the queue; its slot with it
	}
	s.slots++
	if s.state.Step(msg.step) == nil {
		s.turn.dropped = append(s.turn.dropped, world.TaskKey{Run: s.run, Step: msg.step})
		return
	}
	s.turn.held = append(s.turn.held, world.TaskKey{Run: s.run, Step: msg.step, Attempt: msg.task.Attempt})
	for _, e := range msg.mail.Events {
		s.result(e)
	}
}

// cancelTask cancels a task that runs on this worker and reports whether there is one.
func (e *Engine) cancelTask(run, step string, cause error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[taskKey{run, step}]
	if t != nil {
		t.cancel(cause)
	}
	return t != nil
}
