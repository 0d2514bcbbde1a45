package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// append applies an event to the run, puts it into the turn, and lets the machine go on with it. What says nothing new is left out. An error
// means that the fold refuses it.
func (c *course) append(e world.Event) error {
	if err := c.put(&e); err != nil {
		return err
	}
	if e.Seq == 0 || c.eval.machine() == nil || c.blocked() {
		return nil
	}
	if c.feed(c.turn.last()) {
		c.create()
	}
	return nil
}

// put numbers and stamps an event and folds it. It leaves Seq 0 where the event says nothing new.
func (c *course) put(e *world.Event) error {
	e.Time = c.at()
	e.Listened = c.st.EndsListening(e)
	about := c.notes.subjectOf(c.st, e)
	changed, err := c.st.Apply(e, time.Time{})
	if err != nil || !changed {
		return err
	}
	e.Seq = c.st.Seq
	c.notes.note(c.st, e, about)
	c.turn.add(e)
	c.eval.strictly().record(c.turn.last())
	return nil
}

// fail marks the run as blocked from here on: bodies that run may end, nothing else happens.
func (c *course) fail(err error, seq int64) {
	if !c.blocked() {
		c.does.stop()
	}
	c.failure.set(err, seq)
}

// create records what the code asked for since the last event; of what it asked for while it came to its end, what
// lasts.
func (c *course) create() {
	over := c.eval.machine().Outcome() != nil
	for {
		asked := c.eval.machine().Asked()
		if len(asked) == 0 || c.blocked() {
			return
		}
		first := len(c.turn.all())
		for _, op := range asked {
			if !over || lasts(c.st, c.eval.machine(), op) {
				c.does.record(op)
			}
		}
		created := c.turn.all()[first:]
		if len(created) == 0 {
			return
		}
		c.feed(created)
		if over {
			return
		}
	}
}

// record puts what the code asked for into the turn, and does what follows from that.
func (w *steps) record(op *replay.Op) {
	if op.Type == world.HookCreated && op.Chosen {
		w.askToken(op)
		return
	}
	e := op.Event(w.course.at())
	spec, _ := op.Spec.(*StepSpec)
	inPlace := true
	var unplaced error
	if spec != nil && spec.Task {
		inPlace = !spec.Remote && spec.Places == nil && w.runsHere(op.Key.Name)
		if spec.Places != nil { // who holds the run has no place for it
			e.Places, unplaced = spec.Places(op.Input)
		}
		e.Queued = !inPlace
	}
	if spec != nil {
		beginsBy(&e, &spec.Policy)
	}
	if err := w.course.put(&e); err != nil {
		w.course.fail(err, w.course.state().Seq)
		return
	}
	if spec != nil {
		w.timers.timeStart(w.course.state().Step(e.ID))
	}
	switch child, _ := op.Spec.(*ChildSpec); {
	case op.Type == world.StepCreated && e.Kind == world.KindStream:
		w.turn.writeStream(e.Name, op.Spec.(*StreamSpec))
	case op.Type == world.StepCreated && e.Kind.Posts():
		w.post(op)
	case op.Type == world.StepCreated && child != nil:
		if w.settleChild(op, child) {
			w.turn.abroad().addBirth(op)
		}
	case op.Type == world.StepCreated && (e.Kind == world.KindAwait || e.Kind == world.KindSend):
		w.turn.abroad().await()
	case op.Type == world.WaitCreated:
		w.timers.timeWait(w.course.state().Wait(e.ID))
	case op.Type == world.StepCreated && unplaced != nil:
		failUnplaced(w, op, unplaced)
	case op.Type == world.StepCreated && e.Queued:
		w.queueTask(op, spec, e.Places)
	case op.Type == world.StepCreated && spec != nil:
		w.ready.add(e.ID)
	}
}

// askToken asks the world for a chosen token.
func (w *steps) askToken(op *replay.Op) {
	if !w.turn.abroad().asks(op.ID) {
		w.turn.abroad().ask(op.Event(w.course.at()))
	}
}

// at is the time of the next event: a clock that steps back moves no event back.
func (c *course) at() time.Time {
	if c.moment.Before(c.st.Time) {
		return c.st.Time
	}
	return c.moment
}

// runsHere decides where a registered step runs: here, in place, if this session has nothing else to do and knows it; else it is queued.
func (w *steps) runsHere(name string) bool {
	return !w.bodies.some() && !w.ready.some() && w.bodies.starting() == 0 && w.e.code.has(wanted{step: name}) && !w.stay.drains()
}

// queueTask makes a task of a registered step: held by this worker if it has a free slot, open to every worker if not.
// One under limits nobody holds: it is given to who takes it when it has its places.
func (w *steps) queueTask(op *replay.Op, spec *StepSpec, places []world.Place) {
	t := world.Task{
		Run: w.own.run, Step: op.ID, Name: op.Key.Name, Workflow: w.course.state().Birth.Workflow, Input: op.Input, Options: w.notes.withSeen(w.course.state(), spec.options()),
		Priority: w.course.state().Birth.Priority, Places: places,
	}
	if op.Apart != "" {
		t.Options = world.ApartOptions(t.Options, op.Apart)
	}
	if !spec.Remote && w.e.code.has(wanted{step: t.Name}) && len(places) == 0 && !w.stay.drains() && w.e.steps.try(1) == 1 {
		t.Worker, t.Attempt = w.own.worker, 1
		w.bodies.start(&body{step: op.ID, task: &t, attempt: 1})
	}
	w.turn.queue(t)
	w.e.says.wants(w.e.workCtx, wanted{step: t.Name}, w.own.run)
}

// failUnplaced fails a step that has no key of a limit: it is in no queue.
func failUnplaced(w *steps, op *replay.Op, why error) {
	failed := w.e.cfg.Record(fmt.Errorf("step %q: %w", op.Key.Name, why))
	failed.Permanent = true
	if err := w.course.put(&world.Event{Type: world.StepFailed, ID: op.ID, Error: failed}); err != nil {
		w.course.fail(err, w.course.state().Seq)
	}
}

// handleMail appends what somebody sent.
func (s *session) handleMail(mail *world.Mail) {
	if s.course.blocked() {
		return // it stays in the inbox: nothing is delivered to blocked code
	}
	if why := damage(s.course.state(), mail); why != "" { // it stays in the inbox, and the run blocked
		s.course.fail(&world.CorruptError{Run: s.own.run, Seq: s.course.state().Seq + 1, Err: errors.New(why)}, 0)
		return
	}
	if err := s.e.readable(s.own.run, mail.Events); err != nil { // it stays in the inbox as well
		s.course.fail(err, 0)
		return
	}
	s.box.appends(s.course.now())
	s.turn.append(mail.Row)
	if st := endsOf(s.course.state(), mail); st != nil && replaced(s.e, st.Peer) {
		s.turn.abroad().again(world.Anew{Step: st.ID, Run: st.Peer, At: s.course.at()})
		return
	}
	for i := range mail.Events {
		e := mail.Events[i]
		e.Delivery = mail.ID
		if i < len(mail.Events)-1 {
			e.Delivery = "" // the last event carries the delivery: all are appended or none
		}
		if e.OccurredAt.IsZero() {
			e.OccurredAt = mail.ArrivedAt
		}
		if e.Type == world.StepCompleted || e.Type == world.StepFailed || e.Type == world.StepStarted || e.Type == world.StepRetrying || e.Type == world.StepWoken {
			if s.course.state().Step(e.ID) == nil {
				continue // the step is over: its first result stands
			}
		}
		s.course.placeTask(&e)
		paused := s.course.state().Paused != nil
		err := s.course.append(e)
		if paused && e.Type == world.RunResumed {
			s.free(s.course.now(), nil)
		}
		if e.Type == world.StepWoken { // an operator ended the delay before its next attempt
			st := s.course.state().Step(e.ID) // a task of its own waits in the queue
			if st != nil && !st.Queued && st.Status == world.StepPending && st.RetryAt.IsZero() && s.bodies.of(e.ID) == nil && !s.ready.has(e.ID) && !s.course.blocked() {
				s.ready.add(e.ID)
			}
		}
		if err != nil {
			s.e.dropped(s.own.run, &e, err)
			report := e.Type == world.StepRetrying && len(mail.Events) == 1 // of an attempt whose end is known by now
			if s.course.state().Step(e.ID) != nil && !report {
				s.turn.unappend()
				s.course.fail(Block(world.CodeCorrupt, err), s.course.state().Seq)
				return
			}
		}
	}
}
