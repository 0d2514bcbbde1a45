package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// session owns one run while it moves. Its fields belong to its goroutine, but for the mailbox.
type session struct {
	e     *Engine
	run   string
	claim int64
	// worker is the ID under which the run was claimed or created. The worker may have joined anew since: then the run is not this session's any more.
	worker string
	desk   *desk
	parts  [1]*world.Commit // what split returns, as a rule
	doubt  bool             // the outcome of a commit was unknown for a while: its world may still look at it

	wf    *Workflow // nil: claimed only to be cancelled
	state *world.State
	m     *replay.Machine

	watched atomic.Pointer[replay.Machine] // the machine that is fed; for the watch

	box mailbox

	turn      turn
	bodies    map[string]*body // that run now, by step
	ready     readySteps
	timers    timers // due times of waits and retries
	slots     stepSlots
	runSlot   runSlot
	isolation isolation
	lastMail  time.Time
	shelf     shelf
	failure   failure
	workflow  string // of the run that was claimed, as the queue says
	stay      stay
	done      chan struct{} // closed at the very end
	now       time.Time     // the world's clock, read once a turn
	durable   int64         // number of the last event that is committed
	loaded    int64         // number of the last event of the log when the run was claimed

	after   aftermath
	losers  []*replay.Op // children that lost before the world had decided whether they are there
	birth   *birth       // an eager start, until it is committed
	carried carried      // what the segment started with
	newest  int64        // while the log is read: number of the event that began its last segment; 0: the first
	notes   notes
	trial   trial
	old     []*replay.Machine
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

// linger is how long a session waits for more mail after the last; see docs/design.md#law-7.
const linger = 10 * time.Millisecond

// nearRetry is the longest retry delay that is waited for in the session.
const nearRetry = 5 * time.Second

// turnBytes is how much a turn takes in before it commits: far below world.MaxCommit, so that results are never split from each other.
const turnBytes = 1 << 20

func newSession(e *Engine, run string, claim int64) *session {
	s := &session{e: e, run: run, claim: claim, done: make(chan struct{})}
	s.trial = trial{on: e.cfg.Strict}
	s.slots = stepSlots{all: e.steps, box: &s.box}
	s.runSlot = runSlot{all: e.runs, box: &s.box, held: true}
	s.isolation = isolation{all: &e.quarantine, box: &s.box}
	s.sit()
	return s
}

// postMail puts what lies in the run's inbox into the mailbox, once. It keeps a copy of the mail, and so nothing of the others that came with it.
func (s *session) postMail(mail *world.Mail) {
	if s.box.accept(mail.Row) {
		m := *mail
		s.box.post(message{kind: msgMail, at: m.ArrivedAt, mail: &m})
	}
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
		s.startBodies()
		if committed {
			s.goOn()
		}
		if s.after.looks() {
			continue // what the world decided may have moved the machine
		}
		if s.e.cfg.Strict && !s.failure.some() && s.wf != nil {
			s.verify()
		}
		if s.failure.some() && len(s.bodies) == 0 {
			continue // to be blocked at once
		}
		s.wait()
	}
}

// gather collects messages and what fell due, in the order of their times.
func (s *session) gather() []message {
	msgs := s.box.receive()
	if s.turn.hasRest() {
		msgs = append(s.turn.drainRest(), msgs...)
	}
	s.now = s.e.clock.now()
	if s.state != nil && s.state.Paused == nil && !s.failure.some() && !cancels(s) {
		msgs = s.looked(s.due(s.now, msgs))
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
		if s.looksFirst(t) {
			continue
		}
		if t.retry {
			if !s.void(t) && s.bodies[t.id] == nil {
				s.ready.add(t.id)
			}
			continue
		}
		if !s.void(t) {
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
			s.turn.putOff(msgs[i:])
			if s.over() { // what is left finds nobody; slots go back
				s.discard(s.turn.drainRest())
			}
			return
		}
		s.handleOne(&msgs[i])
		if msgs[i].kind == msgDue && cancels(s) {
			s.turn.putOff(msgs[i+1:])
			return
		}
	}
}

// cancels reports whether the code has cancelled steps that are yet to be told. They are before the next deadline passes:
// so the code sees one by one, as it would have, what fell due while nobody had the run.
func cancels(s *session) bool {
	if s.m != nil {
		s.losers = append(s.losers, s.m.Cancelled()...)
	}
	return len(s.losers) > 0
}

// over reports whether the code has come to its end and nothing more is to be delivered. What comes to code that is about to continue waits, unread, for
// the next segment.
func (s *session) over() bool {
	return s.stay.isOver() || s.m != nil && s.m.Outcome() != nil && !s.continues() || s.state != nil && s.state.Status.Terminal()
}

func (s *session) handleOne(msg *message) {
	s.stay.heed()
	switch msg.kind {
	case msgMail:
		if !s.shelf.holds(s.state) || !s.holdBack(msg) {
			s.handleMail(msg.mail)
		}
	case msgResult:
		s.handleResult(msg)
	case msgTaskEnded:
		s.handleTaskEnd(msg)
	case msgDue:
		s.handleDue(msg)
	case msgSlot:
		s.slots.came()
	case msgIsolated:
		s.isolation.came()
	case msgYielded:
		s.handleYielded(msg)
	case msgBack:
		s.handleBack(msg)
	case msgRun:
		s.runSlot.came()
	case msgGrace:
		s.endGrace(msg.step)
	case msgDrain, msgSlice:
		s.stay.drain()
	case msgAbandon:
		s.stay.abandon()
	case msgLost:
		s.lose()
	case msgStray:
		s.handleStray(msg.step, msg.attempt)
	}
}

func (s *session) handleDue(msg *message) {
	if msg.step == deadlineID && !s.shelf.holds(s.state) {
		s.passDeadline(msg.at)
	} else if s.shelf.holds(s.state) { // it was paused in this turn
		s.postpone(msg)
	} else if !s.failure.some() && s.state.Wait(msg.step) != nil {
		s.append(world.Event{Type: world.WaitCompleted, ID: msg.step, Outcome: world.OutcomeDue})
	} else {
		expire(s, msg.step, msg.at)
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
			s.returned(&msgs[i])
			delete(s.bodies, msgs[i].step)
		case msgTaskEnded:
			if msgs[i].task != nil {
				s.returned(&msgs[i])
			}
		}
	}
}

// wait blocks until a message comes or something falls due. Without a body, or with bodies that all wait for runs, it holds no run slot
// meanwhile.
func (s *session) wait() {
	if s.turn.hasRest() || !s.box.empty() {
		return
	}
	if s.runSlot.has() && !s.working() {
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
			return len(s.bodies) > 0 && isCancel(*m.mail)
		}
		return false
	})
}

// nextTimer is how long nothing can fall due; ok is false where nothing will.
func (s *session) nextTimer() (d time.Duration, ok bool) {
	at, ok := s.timers.next()
	if s.state.Paused != nil || s.failure.some() { // nothing fires
		ok = false
	}
	if !s.lastMail.IsZero() && s.still() {
		if l := s.lastMail.Add(linger); !ok || l.Before(at) {
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
	s.cancelBodies(world.ErrLeaseLost)
	s.reportAbandoned()
	s.stay.lose()
}

func (s *session) cancelBodies(cause error) {
	for _, b := range s.bodies {
		b.cancel(cause)
	}
}

// close ends the session for good: nothing holds a slot, nothing is accepted, the machine is kept or unwound. It is called once, by the
// session's goroutine, or, if user code ended that with Goexit, by the one that took over.
func (s *session) close() {
	box := s.box.shut()
	s.discard(append(s.turn.drainRest(), box...))
	s.desk.box = empty(box, deskMessages)
	s.dropStarts()
	s.slots.release()
	s.isolation.end()
	s.runSlot.release()
	for _, m := range s.old {
		s.e.unwind(m)
	}
	if s.m != nil {
		s.e.retire(s)
	}
	s.dismiss()
	s.leave()
	s.e.holdings.forget(s)
	close(s.done)
}
