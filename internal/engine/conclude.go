package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// conclude decides, after the messages were handled, what the turn ends with: the end of the run, starts of steps, or a release.
func (s *session) conclude() {
	if s.stay.isOver() || s.course.state() == nil {
		return
	}
	if s.course.state().Status.Terminal() { // it ended before it began
		return
	}
	if s.eval.workflow() == nil { // nobody here knows the code: it was claimed to be cancelled
		s.endWithoutCode()
		return
	}
	if !s.course.blocked() && !s.turn.blinds() {
		s.steps.cancel()
	}
	if !s.course.blocked() && s.eval.machine().Outcome() != nil && !s.course.state().Status.Terminal() && s.end() {
		return
	}
	if s.stay.abandons() {
		s.steps.abandon()
	}
	if s.stay.drains() || s.course.blocked() || s.course.state().Paused != nil {
		s.bodies.letGo()
	}
	s.steps.startReady()
	if !s.course.blocked() && s.eval.machine().Outcome() != nil && !s.course.state().Status.Terminal() && s.end() { // a step failed as it ended its process too often
		return
	}
	s.slots.release()                          // no body needs them now
	if !(s.slots.inLine() && s.ready.some()) { // a turn without a slot would come round in vain
		s.isolation.giveBack()
	}
	switch {
	case !s.idle() && !s.toBeCleared():
	case failing(s):
		endFailed(s)
	default:
		s.hibernate()
	}
}

// endWithoutCode cancels a run whose code is not needed for it: pending, blocked, or unknown here.
func (s *session) endWithoutCode() {
	if s.course.state().Cancel == nil {
		s.turn.letGo(&world.Release{WakeAt: s.course.now(), Blocked: s.course.fault().last()})
		return
	}
	e := cancelledEnd(s.course.state().Cancel, nil)
	if e.Error != nil && s.course.state().Status == world.Running {
		e.Error.Message += "; nothing was undone, because no worker has the code"
	}
	s.course.terminal(e)
}

// end appends the terminal event that the code came to, or begins the next segment. It reports whether the turn is to be committed now.
func (s *session) end() bool {
	out := s.eval.machine().Outcome()
	switch {
	case s.turn.abroad().undecided(), s.turn.isContinued(), s.course.continues() && (s.turn.conditional() || s.birth != nil): // one at a time
		s.after.look()
		if s.stay.drains() && s.birth == nil && !s.bodies.some() && !s.turn.conditional() {
			s.hibernate() // or code that continues for ever would never let go
		}
	case s.course.continues() && s.course.state().Paused != nil, s.birth == nil && !s.course.steady():
		return false
	case s.course.continues():
		return !s.continueRun(out.Continue)
	case s.course.state().Cancel != nil:
		s.course.terminal(cancelledEnd(s.course.state().Cancel, out.Err))
	case out.Err != nil:
		s.course.terminal(world.Event{Type: world.RunFailed, Error: out.Err})
	default:
		s.course.terminal(world.Event{Type: world.RunCompleted, Payload: out.Output})
	}
	return true
}

func (c *course) terminal(e world.Event) {
	if c.eval.machine() != nil {
		e.Reason = uncreated(&c.e.says, c.name(), c.eval.machine(), e.Reason)
	}
	if err := c.put(&e); err != nil {
		c.fail(err, c.st.Seq)
	}
}

// cancel ends the steps of cancelled parts of the workflow: at once where no body runs, else when the body has ended or its time is
// up. Children end at once, as the code waits for them no longer, and their runs are told.
func (w *steps) cancel() {
	ops := append(w.losers, w.eval.machine().Cancelled()...)
	w.losers = nil
	for ; len(ops) > 0; ops = w.eval.machine().Cancelled() {
		for _, op := range ops {
			st := w.course.state().Step(op.ID)
			if st == nil {
				continue
			}
			cause := whyCancelled(w.course.state().Cancel, op)
			if child, ok := op.Spec.(*ChildSpec); ok {
				w.cancelChild(op, child)
				continue
			}
			if b := w.bodies.of(op.ID); b != nil {
				b.cancel(cause)
				w.graceTimer(op.ID)
				continue
			}
			if w.eval.machine().Outcome() != nil {
				continue // nobody waits for it: it ends with the run
			}
			if st.Queued {
				if w.e.holdings.cancelTask(taskKey{w.own.run, op.ID}, cause) { // it runs on this worker, for the queue
					w.graceTimer(op.ID)
					continue
				}
				w.turn.drop(world.TaskKey{Run: w.own.run, Step: op.ID})
			}
			w.failCancelled(op.ID)
		}
	}
}

// whyCancelled is what the body of a cancelled step is told.
func whyCancelled(run *world.Event, op *replay.Op) error {
	switch {
	case timedOut(run):
		return ErrRunTimeout
	case run != nil:
		return ErrCancelled
	case op.Late():
		return ErrScopeTimeout
	}
	return ErrScope
}

func (w *steps) graceTimer(step string) {
	time.AfterFunc(w.e.cfg.CancelGrace, func() { w.box.post(message{kind: msgGrace, step: step}) })
}

func (w *steps) failCancelled(step string) {
	e := cancelled("cancelled before it ended")
	if st := w.course.state().Step(step); st.RetryAt.After(w.course.state().Time) && st.Error != nil && st.Error.Code != world.CodeAbandoned {
		e.Causes = []*world.Error{st.Error}
	}
	w.course.result(world.Event{Type: world.StepFailed, ID: step, Error: e, Attempt: begun(w.eval.machine().Op(step), w.course.state().Step(step))})
}

// begun is how many attempts of a step that is cancelled have begun, for its undo. Of one in the queue only those are told that are over: it may have begun.
func begun(op *replay.Op, st *world.Step) int {
	if op == nil {
		return 0
	}
	spec, ok := op.Spec.(*StepSpec)
	switch {
	case !ok || spec.Policy.Undo == nil:
		return 0 // nobody asks
	case st.Queued:
		return max(st.Attempts, 1)
	}
	return st.Attempts
}

func cancelled(how string) *world.Error {
	return &world.Error{Message: how, Code: world.CodeCancelled, Permanent: true}
}

// endGrace ends a cancelled step whose body did not return in time. The body keeps its slot until it returns.
func (w *steps) endGrace(step string) {
	if w.course.blocked() || w.course.state().Step(step) == nil {
		return
	}
	if b := w.bodies.of(step); b != nil {
		b.grace = true
	} else if st := w.course.state().Step(step); st.Queued {
		w.turn.drop(world.TaskKey{Run: w.own.run, Step: step})
	}
	w.failCancelled(step)
}

// startReady starts steps as far as there are slots. A start is recorded only for a body that has one.
func (w *steps) startReady() {
	if w.stay.drains() || w.course.blocked() || w.course.state().Paused != nil || w.course.state().Status.Terminal() || w.turn.blinds() || late(w.course.state(), w.course.now()) {
		return
	}
	var waiting []string // those in quarantine for which there is no place
	defer func() { w.ready.again(waiting) }()
	for w.ready.some() && !w.course.blocked() {
		id := w.ready.first()
		st := w.course.state().Step(id)
		op := w.eval.machine().Op(id)
		b := w.bodies.of(id)
		if st == nil || op == nil || b != nil && !b.parked {
			w.ready.next()
			continue
		}
		if !w.slots.get() {
			return
		}
		if spec := op.Spec.(*StepSpec); spec.Check != nil && st.Created <= w.loaded {
			input, err := w.e.cfg.Whole(w.e.workCtx, w.own.run, op.Input, op.Apart)
			if err != nil {
				w.slots.back(1)
				w.course.fail(err, st.Created)
				return
			}
			if err := spec.Check(input); err != nil { // other code wrote it, and the code that can read it may come again
				w.slots.back(1)
				w.course.fail(Block(world.CodeDecode, fmt.Errorf("the recorded input of step %q does not fit: %w", op.Key, err)), st.Created)
				return
			}
		}
		w.ready.next()
		verdict := w.isolation.judge(st)
		if verdict == waits || verdict == guilty {
			w.slots.back(1)
			if verdict == waits {
				waiting = append(waiting, id)
				continue
			}
			w.course.result(world.Event{Type: world.StepFailed, ID: id, Error: crashLoop("the step", deaths(st))})
			continue
		}
		died := deaths(st) > 0
		e := world.Event{Type: world.StepStarted, ID: id, Attempt: st.Attempts + 1}
		if err := w.course.put(&e); err != nil {
			w.slots.back(1)
			w.course.fail(err, w.course.state().Seq)
			return
		}
		w.course.feed(w.turn.last())
		if b == nil {
			b = &body{step: id, call: call{policy: &op.Spec.(*StepSpec).Policy}}
		}
		b.attempt, b.quarantined, b.died = e.Attempt, verdict == quarantined, died
		w.bodies.start(b)
	}
}

// idle reports whether the session has nothing to do here and now, and need not linger for more mail.
func (s *session) idle() bool {
	if !s.still() {
		return false
	}
	return s.course.blocked() || s.stay.drains() || s.course.state().Paused != nil ||
		s.box.lastMail().IsZero() || s.e.clock.now().Sub(s.box.lastMail()) >= linger || !expectsMail(s.course.state()) || s.eval.crowded()
}

// still reports whether the session has nothing to do here and now, and nothing soon by itself.
func (s *session) still() bool {
	if s.bodies.some() || s.bodies.starting() > 0 || s.box.hasRest() || s.turn.conditional() {
		return false
	}
	if s.course.blocked() || s.stay.drains() || s.course.state().Paused != nil {
		return true
	}
	if s.ready.some() {
		return false
	}
	s.timers.prune(s.course.state())
	now := s.course.now()
	if t, ok := s.timers.first(); ok {
		if !t.at.After(now) {
			return false
		}
		if t.retry && t.at.Sub(now) <= nearRetry {
			return false
		}
	}
	return true
}

// void reports whether a timer's wait or step is over, or the step's next attempt is not, or no longer, due then.
func void(state *world.State, t timer) bool {
	if t.retry {
		st := state.Step(t.id)
		return st == nil || st.Status != world.StepPending || !st.RetryAt.Equal(t.at)
	}
	if t.id == deadlineID {
		return state.Cancel != nil
	}
	return state.Wait(t.id) == nil && !unbegunStep(state.Step(t.id))
}

// expectsMail reports whether results of tasks or of other runs are on their way.
func expectsMail(state *world.State) bool {
	for st := range state.Steps() {
		if st.Queued || st.Kind == world.KindChild || st.Kind == world.KindAwait {
			return true
		}
	}
	return false
}

// hibernate gives the run up until something happens: no slot, no goroutine, no memory but for the cache.
func (s *session) hibernate() {
	if !s.box.empty() && !s.eval.crowded() {
		return
	}
	if !s.course.blocked() && s.birth == nil && s.eval.machine().Outcome() == nil {
		s.course.steady()
	}
	s.turn.letGo(s.releaseNow())
}

func (s *session) releaseNow() *world.Release {
	now := s.course.now()
	if s.course.blocked() {
		b := s.course.fault().record(s.course.fault().cause(), s.e.cfg.Build, now)
		s.e.says.blocked(s.course.name(), b)
		pause := blockBackoff(b.Tries)
		if b.Code == world.CodeNoKey && s.e.shun(shunned{workflow: s.own.workflow}) {
			pause = 0
		}
		if before := s.course.fault().last(); !ofBuild(before) || before.Build == b.Build { // else two builds have failed in turn
			if soon, others := s.e.leftTo(b, world.Class{Workflow: s.own.workflow, Version: s.own.version}, s.own.run); others {
				pause = min(pause, soon)
			}
		}
		return &world.Release{Blocked: b, WakeAt: now.Add(pause)}
	}
	r := &world.Release{Waiting: waitingFor(s.course.state(), s.eval.machine()), Full: s.eval.machine().Crowded(s.e.cfg.Unread)}
	s.timers.prune(s.course.state())
	if at, ok := s.timers.next(); ok {
		r.WakeAt = at
	}
	if s.ready.some() || s.eval.machine().Outcome() != nil { // of code that is about to continue
		r.WakeAt = now
	}
	return r
}

// handleResult records what an attempt came to.
func (s *session) handleResult(msg *message) {
	b := s.bodies.of(msg.step)
	s.bodies.remove(msg.step)
	s.bodies.returned(msg)
	if b == nil || b.grace || s.course.state().Step(msg.step) == nil {
		s.e.rollback(msg.result.tx)
		return // its step ended without it
	}
	if b.parked {
		s.steps.unpark(b)
	}
	s.recordResult(msg.step, b, msg.result)
}

func (s *session) recordResult(step string, b *body, r *result) {
	if r.err == nil {
		r.err = codec.CheckSize(r.payload, s.e.cfg.MaxValue)
	}
	if r.tx != nil {
		if r.err != nil {
			s.e.rollback(r.tx)
		} else if r.err = s.commitResult(step, b, r); r.err == nil || s.stay.isOver() {
			return
		}
	}
	if r.err == nil {
		s.turn.addStreams(r.streams...)
		s.steps.ends(b, world.Event{Type: world.StepCompleted, ID: step, Attempt: b.attempt, Payload: r.payload})
		return
	}
	s.steps.recordFailure(step, b, r)
}

// recordFailure records an attempt that failed: another follows, or the step has failed.
func (w *steps) recordFailure(step string, b *body, r *result) {
	st := w.course.state().Step(step)
	rec := w.course.place(w.e.recordOf(r), step, r.where)
	now := w.course.now()
	if w.stay.abandons() || errors.Is(r.cause, ErrDraining) {
		w.turn.addStreams(unclosed(r.streams, false)...)
		w.course.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: now, Error: abandoned("its worker shut down")})
		w.ready.add(step)
		return
	}
	if foreign, ok := r.err.(*replay.ForeignError); ok && !w.cancelledStep(step) { // the code that is to blame blocks the run; mended, it makes the step anew
		w.course.fail(foreign, w.course.state().Seq)
		w.turn.addStreams(unclosed(r.streams, false)...)
		w.course.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: now, Error: rec})
		return
	}
	delay, again, contended := b.policy.WithDefaults().verdict(r.asked(*b.policy), st.Failures, st.Abandoned, st.Started, now)
	if contended != nil {
		rec = contended
	}
	if again && !w.cancelledStep(step) {
		at := world.After(now, delay)
		w.turn.addStreams(unclosed(r.streams, false)...)
		w.course.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: at, Error: rec})
		if !w.course.blocked() {
			w.timers.add(at, step, true, st.Created)
		}
		return
	}
	rec.Permanent = r.asked(*b.policy).Permanent
	w.turn.addStreams(unclosed(r.streams, true)...)
	w.ends(b, world.Event{Type: world.StepFailed, ID: step, Attempt: b.attempt, Error: rec})
}

// ends appends the end of a step. Where an earlier attempt died, the code sees it only when it is durable: it may have been the code behind the step
// that ended the process, before the result was recorded, and must not be taken for the step again.
func (w *steps) ends(b *body, e world.Event) {
	if !b.died {
		w.course.result(e)
		return
	}
	if err := w.course.put(&e); err != nil {
		w.course.fail(err, w.course.state().Seq)
	} else if e.Seq != 0 {
		w.turn.see(e)
	}
}

// seeLater lets the machine go on with what is durable now.
func (s *session) seeLater(events []world.Event) {
	for i := range events {
		if s.stay.isOver() || s.course.blocked() {
			return
		}
		s.after.look()
		if !s.course.feed(events[i : i+1]) {
			return
		}
		s.course.create()
	}
}

// result appends what a body came to; a run that is to be blocked keeps it all the same.
func (c *course) result(e world.Event) {
	if err := c.append(e); err != nil {
		c.fail(err, c.st.Seq)
	}
}

// cancelledStep reports whether the part of the workflow that asked for a step was cancelled: not where it cleans up after a cancel of the run.
func (w *steps) cancelledStep(step string) bool {
	op := w.eval.machine().Op(step)
	return op != nil && op.Cancelled()
}

// abandon reports attempts that are given up, so that they do not count as deaths.
func (w *steps) abandon() {
	for _, step := range w.bodies.inOrder(w.course.state()) {
		b := w.bodies.of(step)
		if b.task != nil || w.course.state().Step(step) == nil {
			continue
		}
		b.cancel(ErrDraining)
		w.ready.add(step)
		if b.parked {
			continue // it is in the log already
		}
		w.course.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: w.course.now(), Error: abandoned("its worker shut down and it did not return")})
	}
	w.bodies.clear()
}

func abandoned(why string) *world.Error {
	return &world.Error{Message: "the attempt was abandoned: " + why, Code: world.CodeAbandoned}
}
