package engine

import (
	"context"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// session owns one run while it moves. It is made of parts, each of which has a rule of its own, and decides in
// which order they have a turn. It belongs to its goroutine, but for the mailbox, and for what its stay and its
// evaluation let others see.
type session struct {
	e   *Engine
	own title

	box    mailbox    // what happens to it
	course course     // how far its run has come
	eval   evaluation // the run's code
	steps  steps      // what is done about its steps
	ready  readySteps // those that wait for a slot
	bodies bodies     // those that are to start, or run
	timers timers     // due times of waits and retries

	turn  turn      // what is about to be committed
	pen   pen       // what writes it
	after aftermath // what is done behind a commit
	notes notes     // what is told when it is durable
	birth *birth    // an eager start, until it is committed

	slots     stepSlots
	runSlot   runSlot
	isolation isolation
	shelf     shelf // mail that came while the run is paused
	stay      stay  // how long it goes on
	desk      *desk // the room it works in
}

// title is under what a session owns its run. It is told when the session begins, and never changes.
type title struct {
	run   string
	claim int64
	// worker is the ID under which the run was claimed or created. The worker may have joined anew since: then the run is not this session's any more.
	worker   string
	workflow string // of a run that was claimed, as the queue says
	version  int    // in the same way
}

// titleOf is that of a run that was claimed.
func titleOf(tk *world.ClaimedRun, worker string) title {
	return title{run: tk.Run, claim: tk.Claim, worker: worker, workflow: tk.Class.Workflow, version: tk.Class.Version}
}

// message is what happens to a session.
type message struct {
	kind     messageKind
	at       time.Time   // when it happened: messages are handled in this order
	mail     *world.Mail // msgMail, msgTaskEnded
	step     string
	attempt  int
	result   *result // msgResult, msgTaskEnded
	task     *world.Task
	isolated bool // msgYielded: the body was the only one in quarantine, and is no longer
}

// transacts reports whether the message brings an open transaction, whose commit needs a turn of its own.
func (m *message) transacts() bool { return m.result != nil && m.result.tx != nil }

type messageKind int

const (
	msgMail      messageKind = iota
	msgResult                // an attempt returned
	msgDue                   // a wait is due
	msgSlot                  // a step slot was granted
	msgIsolated              // the place in quarantine was granted
	msgDrain                 // end soon
	msgAbandon               // end now
	msgLost                  // the lease is lost
	msgGrace                 // a cancelled step's time is up
	msgTaskEnded             // a task of this session's steps, held by this worker, returned
	msgYielded               // a body waits for another run and has yielded its slot
	msgBack                  // it has its answer
	msgRun                   // a run slot was granted
	msgSlice                 // the slice is used up
	msgStray                 // the world says that this worker holds a task of the run, and it does not run here
)

// linger is how long a session waits for more mail after the last; see docs/design/README.md#law-7.
const linger = 10 * time.Millisecond

// nearRetry is the longest retry delay that is waited for in the session.
const nearRetry = 5 * time.Second

// turnBytes is how much a turn takes in before it commits: far below world.MaxCommit, so that results are never split from each other.
const turnBytes = 1 << 20

func newSession(e *Engine, own title) *session {
	s := &session{e: e, own: own}
	s.stay.begin()
	s.slots = stepSlots{all: e.steps, box: &s.box}
	s.runSlot = runSlot{all: e.runs, box: &s.box, held: true}
	s.isolation = isolation{all: &e.quarantine, box: &s.box}
	s.bodies = bodies{e: e, own: &s.own, slots: &s.slots, isolation: &s.isolation}
	s.pen = pen{e: e, own: &s.own}
	s.notes = notes{e: e, own: &s.own}
	s.eval.open(e, &s.own)
	s.course = course{e: e, own: &s.own, turn: &s.turn, notes: &s.notes, eval: &s.eval, does: &s.steps}
	s.steps = steps{
		e: e, own: &s.own, course: &s.course, eval: &s.eval, turn: &s.turn, bodies: &s.bodies, ready: &s.ready, timers: &s.timers,
		slots: &s.slots, isolation: &s.isolation, stay: &s.stay, notes: &s.notes, box: &s.box,
	}
	s.sit()
	return s
}

// loop is the life of a session after it was loaded: turn, commit, bodies, wait.
func (s *session) loop(ctx context.Context) {
	for !s.stay.isOver() {
		s.handle(s.gather())
		s.conclude()
		committed := !s.turn.empty() || s.turn.released() != nil
		if committed && !s.commit(ctx) || s.stay.isOver() {
			return
		}
		s.steps.startBodies()
		if committed {
			s.goOn()
		}
		if s.after.looks() {
			continue // what the world decided may have moved the machine
		}
		if s.e.cfg.Strict && !s.course.blocked() && s.eval.workflow() != nil && !s.box.hasRest() {
			s.course.verify()
		}
		if s.course.blocked() && !s.bodies.some() {
			continue // to be blocked at once
		}
		s.wait()
	}
}

// gather collects messages and what fell due, in the order of their times.
func (s *session) gather() []message {
	msgs := s.box.receive()
	if s.box.hasRest() {
		msgs = append(s.box.drainRest(), msgs...)
	}
	s.course.look(s.e.clock.now())
	if s.course.state() != nil && s.course.state().Paused == nil && !s.course.blocked() && !s.steps.cancels() {
		msgs = s.looked(s.due(s.course.now(), msgs))
	}
	return msgs
}

// due adds what fell due up to a moment to messages, in the order of their times.
func (s *session) due(until time.Time, msgs []message) []message {
	fired := false
	for {
		t, ok := s.timers.due(until)
		if !ok {
			break
		}
		if s.timers.looksFirst(s.course.state(), t) {
			continue
		}
		if t.retry {
			if !void(s.course.state(), t) && s.bodies.of(t.id) == nil {
				s.ready.add(t.id)
			}
			continue
		}
		if !void(s.course.state(), t) {
			msgs = append(msgs, message{kind: msgDue, at: t.at, step: t.id})
			fired = true
		}
	}
	if fired && len(msgs) > 1 {
		slices.SortStableFunc(msgs, func(a, b message) int { return a.at.Compare(b.at) })
	}
	return msgs
}

// handle turns messages into events, until the turn is full or the run has ended.
func (s *session) handle(msgs []message) {
	for i := range msgs {
		if s.turn.full() || s.turn.conditional() || s.over() || msgs[i].transacts() && !s.turn.empty() {
			s.box.putOff(msgs[i:])
			if s.over() { // what is left finds nobody; slots go back
				s.discard(s.box.drainRest())
			}
			return
		}
		s.handleOne(&msgs[i])
		if msgs[i].kind == msgDue && s.steps.cancels() || s.box.hasRest() { // of what a pause held back some follows in the next turn
			s.box.putOff(msgs[i+1:])
			return
		}
	}
}

// over reports whether the code has come to its end and nothing more is to be delivered. What comes to code that is about to continue waits, unread, for
// the next segment.
func (s *session) over() bool {
	return s.stay.isOver() || s.eval.machine() != nil && s.eval.machine().Outcome() != nil && !s.course.continues() || s.course.state() != nil && s.course.state().Status.Terminal()
}

func (s *session) handleOne(msg *message) {
	s.stay.heed()
	switch msg.kind {
	case msgMail:
		if !s.shelf.holds(s.course.state()) || !s.holdBack(msg) {
			s.handleMail(msg.mail)
		}
	case msgResult:
		s.handleResult(msg)
	case msgTaskEnded:
		s.steps.handleTaskEnd(msg)
	case msgDue:
		s.handleDue(msg)
	case msgSlot:
		s.slots.came()
	case msgIsolated:
		s.isolation.came()
	case msgYielded:
		s.steps.handleYielded(msg)
	case msgBack:
		s.steps.handleBack(msg)
	case msgRun:
		s.runSlot.came()
	case msgGrace:
		s.steps.endGrace(msg.step)
	case msgDrain, msgSlice:
		s.stay.drain()
	case msgAbandon:
		s.stay.abandon()
	case msgLost:
		s.lose()
	case msgStray:
		s.steps.handleStray(msg.step, msg.attempt)
	}
}

func (s *session) handleDue(msg *message) {
	if msg.step == deadlineID && !s.shelf.holds(s.course.state()) {
		s.course.passDeadline(msg.at)
	} else if s.shelf.holds(s.course.state()) { // it was paused in this turn
		s.timers.postpone(s.course.state(), msg)
	} else if !s.course.blocked() && s.course.state().Wait(msg.step) != nil {
		s.course.append(world.Event{Type: world.WaitCompleted, ID: msg.step, Outcome: world.OutcomeDue})
	} else {
		s.steps.expire(msg.step, msg.at, s.pen.durable())
	}
}

// discard gives back what messages that nobody handles hold.
func (s *session) discard(msgs []message) {
	for i := range msgs {
		switch msgs[i].kind {
		case msgIsolated:
			s.isolation.came()
		case msgSlot:
			s.slots.came()
		case msgRun:
			s.runSlot.came()
		case msgYielded:
			if msgs[i].isolated {
				s.isolation.done()
			}
		case msgResult:
			s.e.rollback(msgs[i].result.tx)
			s.bodies.returned(&msgs[i])
			s.bodies.remove(msgs[i].step)
		case msgTaskEnded:
			if msgs[i].task != nil {
				s.bodies.returned(&msgs[i])
			}
		}
	}
}

// wait blocks until a message comes or something falls due. Without a body, or with bodies that all wait for runs, it holds no run slot
// meanwhile.
func (s *session) wait() {
	if s.box.hasRest() || !s.box.empty() {
		return
	}
	if s.runSlot.has() && !s.bodies.working() {
		s.runSlot.release()
	}
	if d, ok := s.nextTimer(); ok {
		s.box.waitFor(d)
	} else {
		s.box.wait()
	}
	if !s.runSlot.has() && !s.stay.drains() {
		s.awaitRunSlot()
	}
}

// awaitRunSlot queues for a run slot, and waits for it unless something came that must not wait: see urgent. The slot is a message of its own.
func (s *session) awaitRunSlot() {
	if s.urgent() {
		return
	}
	s.runSlot.ask()
	for !s.urgent() {
		s.box.wait()
	}
}

// urgent reports whether the session moves now: with the run slot that came, or without one, for a message that ends it (with the last slot,
// its run's next session may wait for that) or that cancels what runs.
func (s *session) urgent() bool {
	return s.box.has(func(m message) bool {
		switch m.kind {
		case msgRun, msgLost, msgDrain, msgAbandon, msgSlice:
			return true
		case msgMail:
			return s.bodies.some() && isCancel(*m.mail)
		}
		return false
	})
}

// nextTimer is how long nothing can fall due; ok is false where nothing will.
func (s *session) nextTimer() (d time.Duration, ok bool) {
	at, ok := s.timers.next()
	if s.course.state().Paused != nil || s.course.blocked() { // nothing fires
		ok = false
	}
	if last := s.box.lastMail(); !last.IsZero() && s.still() {
		if l := last.Add(linger); !ok || l.Before(at) {
			at, ok = l, true
		}
	}
	if !ok {
		return 0, false
	}
	return max(at.Sub(s.e.clock.now()), 0), true
}

// lose ends the session without a commit: its run belongs to somebody else.
func (s *session) lose() {
	s.bodies.cancel(world.ErrLeaseLost)
	s.bodies.reportAbandoned(s.course.now())
	s.stay.lose()
}

// close ends the session for good: nothing holds a slot, nothing is accepted, the machine is kept or unwound. It is called once, by the
// session's goroutine, or, if user code ended that with Goexit, by the one that took over.
func (s *session) close() {
	box := s.box.shut()
	s.discard(append(s.box.drainRest(), box...))
	s.desk.box = empty(box, deskMessages)
	s.bodies.dropStarts()
	s.slots.release()
	s.isolation.end()
	s.runSlot.release()
	s.eval.unwind()
	if s.eval.machine() != nil {
		s.e.retire(s)
	}
	s.eval.dismiss()
	s.leave()
	s.e.holdings.forget(s)
	s.stay.finish()
}
