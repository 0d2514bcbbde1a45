package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// turn is what a session is about to commit.
type turn struct {
	events  []world.Event
	tasks   []world.Task
	mail    []int64
	held    []world.TaskKey
	dropped []world.TaskKey
	births  []*replay.Op  // children that are to be born: see others
	awaits  bool          // some event waits for another run
	hooks   []world.Event // with chosen tokens; last in the commit, without a number
	send    []world.Delivery
	losers  map[string]world.Delivery // cancels of children that the code waits for no longer, by step: each goes with the end of that
	goodbye []world.Delivery          // cancels of children that a continuation leaves behind
	// continued: a run_continued is among events, and those before it are of the segment that is over.
	continued   bool
	release     *world.Release
	starts      []*body       // to start when the commit is there
	later       []world.Event // among events: what the machine sees only when they are durable
	bytes       int           // of payloads, about
	rest        []message     // for the next turn
	streams     []world.StreamWrite
	streamBytes int // of bytes, those of streams
}

func (t *turn) empty() bool {
	return len(t.events)+len(t.hooks)+len(t.mail)+len(t.held)+len(t.dropped) == 0
}

// conditional reports whether only the world knows what the machine goes on with: nothing further is delivered before that.
func (t *turn) conditional() bool { return len(t.later) > 0 || t.undecided() }

// undecided reports whether only the world knows what becomes of something that the turn creates.
func (t *turn) undecided() bool {
	if len(t.hooks) > 0 || t.awaits {
		return true
	}
	return slices.ContainsFunc(t.births, func(op *replay.Op) bool { return op.Chosen })
}

// append applies an event to the run, puts it into the turn, and lets the machine go on with it. What says nothing new is left out. An error
// means that the fold refuses it.
func (s *session) append(e world.Event) error {
	if err := s.put(&e); err != nil {
		return err
	}
	if e.Seq == 0 || s.m == nil || s.failure.some() {
		return nil
	}
	if err := s.m.Feed(s.turn.events[len(s.turn.events)-1:], false); err != nil {
		s.fail(err, e.Seq)
		return nil
	}
	s.create()
	return nil
}

// put numbers and stamps an event and folds it. It leaves Seq 0 where the event says nothing new.
func (s *session) put(e *world.Event) error {
	e.Time = s.at()
	about := s.subjectOf(e)
	changed, err := s.state.Apply(e, time.Time{})
	if err != nil || !changed {
		return err
	}
	e.Seq = s.state.Seq
	s.note(e, about)
	s.turn.events = append(s.turn.events, world.Event{})
	s.turn.events[len(s.turn.events)-1] = *e
	s.turn.bytes += weight(e)
	s.trial.record(s.turn.events[len(s.turn.events)-1:])
	return nil
}

// weight is about how many bytes an event adds to a commit. The input of a task or a child travels twice: with the event, and with the task or the
// birth.
func weight(e *world.Event) int {
	n := len(e.Payload) + len(e.Name) + len(e.Path) + len(e.Match) + errorWeight(e.Error) + 200
	if e.Next != nil && e.Next.Base != nil {
		n += len(e.Next.Base.Deliveries)/3*4 + 20*(len(e.Next.Unread)+len(e.Next.Base.Hooks)+len(e.Next.Base.Starts))
	}
	if e.Type == world.StepCreated && (e.Queued || e.Kind == world.KindChild) {
		n += len(e.Payload) + 400
	}
	return n
}

func errorWeight(e *world.Error) int {
	if e == nil {
		return 0
	}
	n := len(e.Message) + len(e.Stack) + len(e.Value) + len(e.Name) + 200
	for _, c := range e.Causes {
		n += errorWeight(c)
	}
	return n
}

// fail marks the run as blocked from here on: bodies that run may end, nothing else happens.
func (s *session) fail(err error, seq int64) {
	if !s.failure.some() {
		s.failure.set(s.named(err), seq)
		s.ready.drop()
	}
}

// named says whose body it was that used the workflow's Context, where that was seen before the body ended, and no other runs.
func (s *session) named(err error) error {
	if foreign, ok := err.(*replay.ForeignError); ok && foreign.Body && foreign.Step == "" && len(s.bodies) == 1 {
		whose := *foreign
		for _, b := range s.bodies {
			whose.Step = b.seat.info.Name
		}
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
		first := len(s.turn.events)
		for _, op := range asked {
			if !over || s.lasts(op) {
				s.createOne(op)
			}
		}
		created := s.turn.events[first:]
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
	if err := s.put(&e); err != nil {
		s.fail(err, s.state.Seq)
		return
	}
	switch child, _ := op.Spec.(*ChildSpec); {
	case op.Type == world.StepCreated && e.Kind == world.KindStream:
		s.writeStream(e.Name, op.Spec.(*StreamSpec))
	case op.Type == world.StepCreated && child != nil:
		s.turn.births = append(s.turn.births, op)
	case op.Type == world.StepCreated && e.Kind == world.KindAwait:
		s.turn.awaits = true
	case op.Type == world.WaitCreated:
		s.timeWait(s.state.Wait(e.ID))
	case op.Type == world.StepCreated && e.Queued:
		s.queueTask(op, spec)
	case op.Type == world.StepCreated && spec != nil:
		s.ready.add(e.ID)
	}
}

// askToken asks the world for a chosen token.
func (s *session) askToken(op *replay.Op) {
	if !slices.ContainsFunc(s.turn.hooks, func(h world.Event) bool { return h.ID == op.ID }) {
		s.turn.hooks = append(s.turn.hooks, op.Event(s.at()))
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
	return len(s.bodies) == 0 && !s.ready.some() && len(s.turn.starts) == 0 && s.e.stepsByName[name] != nil && !s.stay.drains()
}

// queueTask makes a task of a registered step: held by this worker if it has a free slot, open to every worker if not.
func (s *session) queueTask(op *replay.Op, spec *StepSpec) {
	t := world.Task{
		Run: s.run, Step: op.ID, Name: op.Key.Name, Workflow: s.state.Birth.Workflow, Input: op.Input, Options: s.withSeen(spec.Override),
		Priority: s.state.Birth.Priority,
	}
	if def := s.e.stepsByName[t.Name]; def != nil && !s.stay.drains() && s.e.steps.try(1) == 1 {
		t.Worker, t.Attempt = s.worker, 1
		s.turn.starts = append(s.turn.starts, &body{step: op.ID, task: &t, attempt: 1})
	}
	s.turn.tasks = append(s.turn.tasks, t)
}

// handleMail appends what somebody sent.
func (s *session) handleMail(mail *world.Mail) {
	if s.failure.some() {
		return // it stays in the inbox: nothing is delivered to blocked code
	}
	if why := s.damage(mail); why != "" { // it stays in the inbox, and the run blocked
		s.fail(&world.CorruptError{Run: s.run, Seq: s.state.Seq + 1, Err: errors.New(why)}, 0)
		return
	}
	if err := s.e.readable(s.run, mail.Events); err != nil { // it stays in the inbox as well
		s.fail(err, 0)
		return
	}
	s.lastMail = s.now
	s.turn.mail = append(s.turn.mail, mail.Row)
	for i := range mail.Events {
		e := mail.Events[i]
		e.Delivery = mail.ID
		if i < len(mail.Events)-1 {
			e.Delivery = "" // the last event carries the delivery: all are appended or none
		}
		if e.OccurredAt.IsZero() {
			e.OccurredAt = mail.ArrivedAt
		}
		if e.Type == world.StepCompleted || e.Type == world.StepFailed || e.Type == world.StepStarted || e.Type == world.StepRetrying {
			if s.state.Step(e.ID) == nil {
				continue // the step is over: its first result stands
			}
		}
		paused := s.state.Paused != nil
		err := s.append(e)
		if paused && e.Type == world.RunResumed {
			s.resumed()
		}
		if err != nil {
			s.e.dropped(s.run, &e, err)
			report := e.Type == world.StepRetrying && len(mail.Events) == 1 // of an attempt whose end is known by now
			if s.state.Step(e.ID) != nil && !report {
				s.turn.mail = s.turn.mail[:len(s.turn.mail)-1]
				s.fail(Block(world.CodeCorrupt, err), s.state.Seq)
				return
			}
		}
	}
}
