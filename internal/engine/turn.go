package engine

import (
	"errors"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// append applies an event to the run, puts it into the turn, and lets the machine go on with it. What says nothing new is left out. An error
// means that the fold refuses it.
func (s *session) append(e world.Event) error {
	if err := s.put(&e); err != nil {
		return err
	}
	if e.Seq == 0 || s.m == nil || s.failure.some() {
		return nil
	}
	if err := s.m.Feed(s.turn.last(), false); err != nil {
		s.fail(err, e.Seq)
		return nil
	}
	s.create()
	return nil
}

// put numbers and stamps an event and folds it. It leaves Seq 0 where the event says nothing new.
func (s *session) put(e *world.Event) error {
	e.Time = s.at()
	about := s.notes.subjectOf(s.state, e)
	changed, err := s.state.Apply(e, time.Time{})
	if err != nil || !changed {
		return err
	}
	e.Seq = s.state.Seq
	s.notes.note(s.state, e, about)
	s.turn.add(e)
	s.trial.record(s.turn.last())
	return nil
}

// fail marks the run as blocked from here on: bodies that run may end, nothing else happens.
func (s *session) fail(err error, seq int64) {
	if !s.failure.some() {
		s.failure.set(s.bodies.named(err), seq)
		s.ready.drop()
	}
}

// named says whose body it was that used the workflow's Context, where that was seen before the body ended, and no other runs.
func (b *bodies) named(err error) error {
	if foreign, ok := err.(*replay.ForeignError); ok && foreign.Body && foreign.Step == "" && b.count() == 1 {
		whose := *foreign
		whose.Step = b.only().seat.info.Name
		return &whose
	}
	return err
}

// create records what the code asked for since the last event; of what it asked for while it came to its end, what
// lasts.
func (s *session) create() {
	over := s.m.Outcome() != nil
	for {
		asked := s.m.Asked()
		if len(asked) == 0 || s.failure.some() {
			return
		}
		first := len(s.turn.all())
		for _, op := range asked {
			if !over || lasts(s.state, s.m, op) {
				s.createOne(op)
			}
		}
		created := s.turn.all()[first:]
		if len(created) == 0 {
			return
		}
		if err := s.m.Feed(created, false); err != nil {
			s.fail(err, s.state.Seq)
		}
		if over {
			return
		}
	}
}

func (s *session) createOne(op *replay.Op) {
	if op.Type == world.HookCreated && op.Chosen {
		s.askToken(op)
		return
	}
	e := op.Event(s.at())
	spec, _ := op.Spec.(*StepSpec)
	inPlace := true
	if spec != nil && spec.Task {
		inPlace = s.runsHere(op.Key.Name)
		e.Queued = !inPlace
	}
	if spec != nil {
		beginsBy(&e, &spec.Policy)
	}
	if err := s.put(&e); err != nil {
		s.fail(err, s.state.Seq)
		return
	}
	if spec != nil {
		s.timers.timeStart(s.state.Step(e.ID))
	}
	switch child, _ := op.Spec.(*ChildSpec); {
	case op.Type == world.StepCreated && e.Kind == world.KindStream:
		s.turn.writeStream(e.Name, op.Spec.(*StreamSpec))
	case op.Type == world.StepCreated && child != nil:
		s.turn.abroad().addBirth(op)
	case op.Type == world.StepCreated && (e.Kind == world.KindAwait || e.Kind == world.KindSend):
		s.turn.abroad().await()
	case op.Type == world.WaitCreated:
		s.timers.timeWait(s.state.Wait(e.ID))
	case op.Type == world.StepCreated && e.Queued:
		s.queueTask(op, spec)
	case op.Type == world.StepCreated && spec != nil:
		s.ready.add(e.ID)
	}
}

// askToken asks the world for a chosen token.
func (s *session) askToken(op *replay.Op) {
	if !s.turn.abroad().asks(op.ID) {
		s.turn.abroad().ask(op.Event(s.at()))
	}
}

// at is the time of the next event: a clock that steps back moves no event back.
func (s *session) at() time.Time {
	if s.now.Before(s.state.Time) {
		return s.state.Time
	}
	return s.now
}

// runsHere decides where a registered step runs: here, in place, if this session has nothing else to do and knows it; else it is queued.
func (s *session) runsHere(name string) bool {
	return !s.bodies.some() && !s.ready.some() && s.bodies.starting() == 0 && s.e.code.step(name) != nil && !s.stay.drains()
}

// queueTask makes a task of a registered step: held by this worker if it has a free slot, open to every worker if not.
func (s *session) queueTask(op *replay.Op, spec *StepSpec) {
	t := world.Task{
		Run: s.own.run, Step: op.ID, Name: op.Key.Name, Workflow: s.state.Birth.Workflow, Input: op.Input, Options: s.notes.withSeen(s.state, spec.Override),
		Priority: s.state.Birth.Priority,
	}
	if def := s.e.code.step(t.Name); def != nil && !s.stay.drains() && s.e.steps.try(1) == 1 {
		t.Worker, t.Attempt = s.own.worker, 1
		s.bodies.start(&body{step: op.ID, task: &t, attempt: 1})
	}
	s.turn.queue(t)
	s.e.says.wants(s.e.workCtx, wanted{step: t.Name}, s.own.run)
}

// handleMail appends what somebody sent.
func (s *session) handleMail(mail *world.Mail) {
	if s.failure.some() {
		return // it stays in the inbox: nothing is delivered to blocked code
	}
	if why := damage(s.state, mail); why != "" { // it stays in the inbox, and the run blocked
		s.fail(&world.CorruptError{Run: s.own.run, Seq: s.state.Seq + 1, Err: errors.New(why)}, 0)
		return
	}
	if err := s.e.readable(s.own.run, mail.Events); err != nil { // it stays in the inbox as well
		s.fail(err, 0)
		return
	}
	s.lastMail = s.now
	s.turn.append(mail.Row)
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
			if s.state.Step(e.ID) == nil {
				continue // the step is over: its first result stands
			}
		}
		placeTask(s, &e)
		paused := s.state.Paused != nil
		err := s.append(e)
		if paused && e.Type == world.RunResumed {
			s.resumed()
		}
		if e.Type == world.StepWoken { // an operator ended the delay before its next attempt
			st := s.state.Step(e.ID) // a task of its own waits in the queue
			if st != nil && !st.Queued && st.Status == world.StepPending && st.RetryAt.IsZero() && s.bodies.of(e.ID) == nil && !s.ready.has(e.ID) && !s.failure.some() {
				s.ready.add(e.ID)
			}
		}
		if err != nil {
			s.e.dropped(s.own.run, &e, err)
			report := e.Type == world.StepRetrying && len(mail.Events) == 1 // of an attempt whose end is known by now
			if s.state.Step(e.ID) != nil && !report {
				s.turn.unappend()
				s.fail(Block(world.CodeCorrupt, err), s.state.Seq)
				return
			}
		}
	}
}
