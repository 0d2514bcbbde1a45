package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// conclude decides, after the messages were handled, what the turn ends with: the end of the run, starts of steps, or a release.
func (s *session) conclude() {
	if s.stay.isOver() || s.state == nil {
		return
	}
	if s.state.Status.Terminal() { // it ended before it began
		return
	}
	if s.wf == nil { // nobody here knows the code: it was claimed to be cancelled
		s.endWithoutCode()
		return
	}
	if !s.failure.some() && !s.turn.blinds() {
		s.cancelSteps()
	}
	if !s.failure.some() && s.m.Outcome() != nil && !s.state.Status.Terminal() && s.end() {
		return
	}
	if s.stay.abandons() {
		s.abandonBodies()
	}
	s.freeParked()
	s.startReady()
	if !s.failure.some() && s.m.Outcome() != nil && !s.state.Status.Terminal() && s.end() { // a step failed as it ended its process too often
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
	if s.state.Cancel == nil {
		s.turn.letGo(&world.Release{WakeAt: s.now, Blocked: s.failure.last()})
		return
	}
	e := s.cancelledEnd(nil)
	if e.Error != nil && s.state.Status == world.Running {
		e.Error.Message += "; nothing was undone, as nobody has its code"
	}
	s.terminal(e)
}

// end appends the terminal event that the code came to, or begins the next segment. It reports whether the turn is to be committed now.
func (s *session) end() bool {
	out := s.m.Outcome()
	switch {
	case s.turn.undecided(), s.turn.isContinued(), s.continues() && (s.turn.conditional() || s.birth != nil): // one at a time
		s.after.look()
		if s.stay.drains() && s.birth == nil && len(s.bodies) == 0 && !s.turn.conditional() {
			s.hibernate() // or code that continues for ever would never let go
		}
	case s.continues() && s.state.Paused != nil, s.birth == nil && !s.steady():
		return false
	case s.continues():
		return !s.continueRun(out.Continue)
	case s.state.Cancel != nil:
		s.terminal(s.cancelledEnd(out.Err))
	case out.Err != nil:
		s.terminal(world.Event{Type: world.RunFailed, Error: out.Err})
	default:
		s.terminal(world.Event{Type: world.RunCompleted, Payload: out.Output})
	}
	return true
}

func (s *session) terminal(e world.Event) {
	if s.m != nil {
		e.Reason = s.uncreated(e.Reason)
	}
	if err := s.put(&e); err != nil {
		s.fail(err, s.state.Seq)
	}
}

// cancelSteps ends the steps of cancelled parts of the workflow: at once where no body runs, else when the body has ended or its time is
// up. Children end at once, as the code waits for them no longer, and their runs are told.
func (s *session) cancelSteps() {
	ops := append(s.losers, s.m.Cancelled()...)
	s.losers = nil
	for ; len(ops) > 0; ops = s.m.Cancelled() {
		for _, op := range ops {
			st := s.state.Step(op.ID)
			if st == nil {
				continue
			}
			cause := whyCancelled(s.state.Cancel, op)
			if child, ok := op.Spec.(*ChildSpec); ok {
				s.cancelChild(op, child)
				continue
			}
			if b := s.bodies[op.ID]; b != nil {
				b.cancel(cause)
				s.graceTimer(op.ID)
				continue
			}
			if s.m.Outcome() != nil {
				continue // nobody waits for it: it ends with the run
			}
			if st.Queued {
				if s.e.holdings.cancelTask(taskKey{s.run, op.ID}, cause) { // it runs on this worker, for the queue
					s.graceTimer(op.ID)
					continue
				}
				s.turn.drop(world.TaskKey{Run: s.run, Step: op.ID})
			}
			s.failCancelled(op.ID)
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

func (s *session) graceTimer(step string) {
	time.AfterFunc(s.e.cfg.CancelGrace, func() { s.box.post(message{kind: msgGrace, step: step}) })
}

func (s *session) failCancelled(step string) {
	e := cancelled("cancelled before it ended")
	if st := s.state.Step(step); st.RetryAt.After(s.state.Time) && st.Error != nil && st.Error.Code != world.CodeAbandoned {
		e.Causes = []*world.Error{st.Error}
	}
	s.result(world.Event{Type: world.StepFailed, ID: step, Error: e, Attempt: begun(s.m.Op(step), s.state.Step(step))})
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
func (s *session) endGrace(step string) {
	if s.failure.some() || s.state.Step(step) == nil {
		return
	}
	if b := s.bodies[step]; b != nil {
		b.grace = true
	} else if st := s.state.Step(step); st.Queued {
		s.turn.drop(world.TaskKey{Run: s.run, Step: step})
	}
	s.failCancelled(step)
}

// startReady starts steps as far as there are slots. A start is recorded only for a body that has one.
func (s *session) startReady() {
	if s.stay.drains() || s.failure.some() || s.state.Paused != nil || s.state.Status.Terminal() || s.turn.blinds() || s.late() {
		return
	}
	var waiting []string // those in quarantine for which there is no place
	defer func() { s.ready.again(waiting) }()
	for s.ready.some() && !s.failure.some() {
		id := s.ready.first()
		st := s.state.Step(id)
		op := s.m.Op(id)
		b := s.bodies[id]
		if st == nil || op == nil || b != nil && !b.parked {
			s.ready.next()
			continue
		}
		if !s.slots.get() {
			return
		}
		if spec := op.Spec.(*StepSpec); spec.Check != nil && st.Created <= s.loaded {
			input, err := s.e.cfg.Whole(s.e.workCtx, s.run, op.Input)
			if err != nil {
				s.slots.back(1)
				s.fail(err, st.Created)
				return
			}
			if err := spec.Check(input); err != nil { // other code wrote it, and the code that can read it may come again
				s.slots.back(1)
				s.fail(Block(world.CodeDecode, fmt.Errorf("the recorded input of step %q does not fit: %w", op.Key, err)), st.Created)
				return
			}
		}
		s.ready.next()
		verdict := s.judge(st)
		if verdict == waits || verdict == guilty {
			s.slots.back(1)
			if verdict == waits {
				waiting = append(waiting, id)
				continue
			}
			s.result(world.Event{Type: world.StepFailed, ID: id, Error: crashLoop("the step", deaths(st))})
			continue
		}
		died := deaths(st) > 0
		e := world.Event{Type: world.StepStarted, ID: id, Attempt: st.Attempts + 1}
		if err := s.put(&e); err != nil {
			s.slots.back(1)
			s.fail(err, s.state.Seq)
			return
		}
		if err := s.m.Feed(s.turn.last(), false); err != nil {
			s.fail(err, e.Seq)
		}
		if b == nil {
			b = &body{step: id, policy: &op.Spec.(*StepSpec).Policy}
		}
		b.attempt, b.quarantined, b.died = e.Attempt, verdict == quarantined, died
		s.turn.start(b)
	}
}

// idle reports whether the session has nothing to do here and now, and need not linger for more mail.
func (s *session) idle() bool {
	if !s.still() {
		return false
	}
	return s.failure.some() || s.stay.drains() || s.state.Paused != nil ||
		s.lastMail.IsZero() || s.e.clock.now().Sub(s.lastMail) >= linger || !s.expectsMail() || s.crowded()
}

// crowded reports whether so much is unread that senders are to be told: that is done with the release, and so does
// not wait for a moment without mail.
func (s *session) crowded() bool { return s.m != nil && s.m.Crowded(s.e.cfg.Unread) }

// still reports whether the session has nothing to do here and now, and nothing soon by itself.
func (s *session) still() bool {
	if len(s.bodies) > 0 || s.turn.starting() > 0 || s.turn.hasRest() || s.turn.conditional() {
		return false
	}
	if s.failure.some() || s.stay.drains() || s.state.Paused != nil {
		return true
	}
	if s.ready.some() {
		return false
	}
	s.timers.prune(s.void)
	now := s.now
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
func (s *session) void(t timer) bool {
	if t.retry {
		st := s.state.Step(t.id)
		return st == nil || st.Status != world.StepPending || !st.RetryAt.Equal(t.at)
	}
	if t.id == deadlineID {
		return s.state.Cancel != nil
	}
	return s.state.Wait(t.id) == nil && !unbegunStep(s.state.Step(t.id))
}

// expectsMail reports whether results of tasks or of other runs are on their way.
func (s *session) expectsMail() bool {
	for st := range s.state.Steps() {
		if st.Queued || st.Kind == world.KindChild || st.Kind == world.KindAwait {
			return true
		}
	}
	return false
}

// hibernate gives the run up until something happens: no slot, no goroutine, no memory but for the cache.
func (s *session) hibernate() {
	if !s.box.empty() && !s.crowded() {
		return
	}
	if !s.failure.some() && s.birth == nil && s.m.Outcome() == nil {
		s.steady()
	}
	s.turn.letGo(s.releaseNow())
}

func (s *session) releaseNow() *world.Release {
	now := s.now
	if s.failure.some() {
		b := s.failure.record(s.failure.cause(), s.e.cfg.Build, now)
		s.e.says.blocked(s.toName(), b)
		pause := blockBackoff(b.Tries)
		if b.Code == world.CodeNoKey && s.e.shun(shunned{workflow: s.workflow}) {
			pause = 0
		}
		return &world.Release{Blocked: b, WakeAt: now.Add(pause)}
	}
	r := &world.Release{Waiting: s.waitingFor(), Full: s.m.Crowded(s.e.cfg.Unread)}
	s.timers.prune(s.void)
	if at, ok := s.timers.next(); ok {
		r.WakeAt = at
	}
	if s.ready.some() || s.m.Outcome() != nil { // of code that is about to continue
		r.WakeAt = now
	}
	return r
}

// handleResult records what an attempt came to.
func (s *session) handleResult(msg *message) {
	b := s.bodies[msg.step]
	delete(s.bodies, msg.step)
	s.returned(msg)
	if b == nil || b.grace || s.state.Step(msg.step) == nil {
		s.e.rollback(msg.result.tx)
		return // its step ended without it
	}
	if b.parked {
		s.unpark(b)
	}
	s.recordResult(msg.step, b, msg.result)
}

// returned takes over what a body held when it returned.
func (s *session) returned(msg *message) {
	if msg.result.slot {
		s.slots.back(1)
	}
	if msg.result.turn {
		s.isolation.done()
	}
}

func (s *session) recordResult(step string, b *body, r *result) {
	if r.err == nil {
		r.err = codec.CheckSize(r.payload, s.e.cfg.Limit)
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
		s.ends(b, world.Event{Type: world.StepCompleted, ID: step, Attempt: b.attempt, Payload: r.payload})
		return
	}
	s.recordFailure(step, b, r)
}

// recordFailure records an attempt that failed: another follows, or the step has failed.
func (s *session) recordFailure(step string, b *body, r *result) {
	st := s.state.Step(step)
	rec := s.place(s.e.recordOf(r), step, r.where)
	now := s.now
	if s.stay.abandons() || errors.Is(r.cause, ErrDraining) {
		s.turn.addStreams(unclosed(r.streams, false)...)
		s.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: now, Error: abandoned("its worker shut down")})
		s.ready.add(step)
		return
	}
	if foreign, ok := r.err.(*replay.ForeignError); ok && !s.cancelledStep(step) { // the code that is to blame blocks the run; mended, it makes the step anew
		s.fail(foreign, s.state.Seq)
		s.turn.addStreams(unclosed(r.streams, false)...)
		s.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: now, Error: rec})
		return
	}
	if delay, again := b.policy.WithDefaults().verdict(r.err, st.Failures+1, st.Started, now); again && !s.cancelledStep(step) {
		at := world.After(now, delay)
		s.turn.addStreams(unclosed(r.streams, false)...)
		s.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: at, Error: rec})
		if !s.failure.some() {
			s.timers.add(at, step, true, st.Created)
		}
		return
	}
	rec.Permanent = isFatal(r.err)
	s.turn.addStreams(unclosed(r.streams, true)...)
	s.ends(b, world.Event{Type: world.StepFailed, ID: step, Attempt: b.attempt, Error: rec})
}

// ends appends the end of a step. Where an earlier attempt died, the code sees it only when it is durable: it may have been the code behind the step
// that ended the process, before the result was recorded, and must not be taken for the step again.
func (s *session) ends(b *body, e world.Event) {
	if !b.died {
		s.result(e)
		return
	}
	if err := s.put(&e); err != nil {
		s.fail(err, s.state.Seq)
	} else if e.Seq != 0 {
		s.turn.see(e)
	}
}

// seeLater lets the machine go on with what is durable now.
func (s *session) seeLater(events []world.Event) {
	for i := range events {
		if s.stay.isOver() || s.failure.some() {
			return
		}
		s.after.look()
		if err := s.m.Feed(events[i:i+1], false); err != nil {
			s.fail(err, events[i].Seq)
			return
		}
		s.create()
	}
}

// result appends what a body came to; a run that is to be blocked keeps it all the same.
func (s *session) result(e world.Event) {
	if err := s.append(e); err != nil {
		s.fail(err, s.state.Seq)
	}
}

// cancelledStep reports whether the part of the workflow that asked for a step was cancelled: not where it cleans up after a cancel of the run.
func (s *session) cancelledStep(step string) bool {
	op := s.m.Op(step)
	return op != nil && op.Cancelled()
}

// abandonBodies reports attempts that are given up, so that they do not count as deaths.
func (s *session) abandonBodies() {
	for _, step := range s.running() {
		b := s.bodies[step]
		if b.task != nil || s.state.Step(step) == nil {
			continue
		}
		b.cancel(ErrDraining)
		s.ready.add(step)
		if b.parked {
			continue // it is in the log already
		}
		s.result(world.Event{Type: world.StepRetrying, ID: step, Attempt: b.attempt, RetryAt: s.now, Error: abandoned("its worker shut down and it did not return")})
	}
	clear(s.bodies)
}

// running lists the steps whose bodies run here, in the order in which they were asked for; one that is over comes
// first.
func (s *session) running() []string {
	created := func(step string) int64 {
		if st := s.state.Step(step); st != nil {
			return st.Created
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(s.bodies), func(a, b string) int {
		return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(a, b))
	})
}

// reportAbandoned tells whoever owns the run now that the attempts which run here were given up, not dead: the process outlived its lease.
func (s *session) reportAbandoned() {
	for step, b := range s.bodies {
		if b.task == nil && !b.parked {
			s.reportAttempt(step, b.attempt, "its worker lost its lease")
		}
	}
}

// reportUnbegun tells the same of attempts whose start a commit has written though their bodies never begin: the lease ended before its answer came.
func (s *session) reportUnbegun(c *world.Commit) {
	const why = "its worker lost its lease before it began"
	for i := range c.Events {
		if e := &c.Events[i]; e.Type == world.StepStarted {
			s.reportAttempt(e.ID, e.Attempt, why)
		}
	}
	for i := range c.Tasks {
		if t := c.Tasks[i]; t.Worker != "" {
			s.e.bodies.Go(func() { s.e.deliverTask(s.e.abandonment(&t, s.e.clock.now(), why)) })
		}
	}
}

func (s *session) reportAttempt(step string, attempt int, why string) {
	d := &world.Delivery{Run: s.run, ID: fmt.Sprintf("abandoned:%s:%d", step, attempt), Events: []world.Event{{
		Type: world.StepRetrying, ID: step, Attempt: attempt, RetryAt: s.now, Error: abandoned(why),
	}}}
	s.e.bodies.Go(func() {
		if _, err := s.e.cfg.World.Deliver(s.e.workCtx, d); err != nil {
			s.e.cfg.Logger.Info("an abandoned attempt could not be reported", "run_id", d.Run, "step.id", step, "err", err)
		}
	})
}

func abandoned(why string) *world.Error {
	return &world.Error{Message: "the attempt was abandoned: " + why, Code: world.CodeAbandoned}
}
