package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// commit writes the turn. It returns false when the session is over because its run belongs to somebody else, or its birth was
// refused.
func (s *session) commit(ctx context.Context) bool {
	if s.state.Status.Terminal() {
		s.turn.abroad().tell(s.farewell(ctx))
	}
	parts := s.split()
	var outcome func()
	for i, c := range parts {
		if i > 0 {
			parts[i-1] = nil // what was written is held no longer
		}
		last := i == len(parts)-1
		known := len(c.Events)
		s.turn.abroad().others(c, s.createChild)
		if last {
			s.turn.abroad().stage(c)
		}
		done, err := s.write(ctx, c)
		if errors.Is(err, errWritten) {
			s.bodies.reportUnbegun(c, s.now)
			s.durable = c.First + int64(len(c.Events)) - 1
			s.notes.tellAll(s.durable)
		}
		switch {
		case s.birth != nil && i == 0:
			if !s.created(done, err) {
				return false
			}
		case err != nil:
			s.e.says.lost(s.toName(), err)
			s.giveUp(ctx, err)
			s.lose()
			s.bodies.dropStarts()
			return false
		}
		s.durable = c.First + int64(len(c.Events)) - 1
		if len(done.Events) > 0 {
			s.durable = done.Events[len(done.Events)-1].Seq
		}
		s.notes.tellAll(s.durable)
		if c.Release != nil {
			s.notes.tellBlocked(s.state, s.wf, c.Release.Blocked)
		}
		if len(done.Events) > len(c.Events) && !last { // it shifts what was to follow: begin anew from the log
			s.restart(ctx)
			return false
		}
		if len(c.Conditions) > 0 {
			outcome = func() { s.settled(c, known, done) }
		}
		if last && (s.turn.released() != nil || s.state.Status.Terminal()) {
			s.stay.end()
			s.comes(s.turn.released(), done.Mail)
			if s.state.Status.Terminal() {
				s.bodies.cancel(ErrRunOver)
				if s.state.Status == world.Failed && s.state.Error != nil {
					s.e.says.failed(s.toName(), s.state.Error)
				}
				s.tellEnd()
			}
			if done.Mail {
				s.e.kick()
			}
		}
	}
	if len(parts) == 1 && outcome == nil && !s.doubt {
		s.desk.commit = parts[0]
	}
	s.isolation.strike(false)
	if s.turn.isContinued() {
		s.bodies.cancel(ErrRunOver) // new ones have not begun
	}
	s.after.leave(s.turn.unseen(), outcome)
	s.turn.next()
	return true
}

// goOn lets the machine see what it may see now that the turn is durable, and its bodies are started: what it asks for then is of the next turn.
func (s *session) goOn() {
	later, outcome := s.after.empty()
	s.seeLater(later)
	s.isolation.release()
	if outcome != nil {
		s.after.look()
		outcome()
	}
}

// split makes commits of the turn: one, unless it is too large. Results, mail and held tasks are in the first, starts and the release in the last.
func (s *session) split() []*world.Commit {
	events := s.turn.all()
	first := s.state.Seq - int64(len(events)) + 1
	if s.turn.large() {
		return s.turn.splitLarge(first, s.newCommit)
	}
	c := s.spareCommit()
	*c = s.nextCommit(first, events)
	s.turn.fill(c)
	return append(s.parts[:0], c)
}

func (s *session) newCommit(first int64, events []world.Event) *world.Commit {
	c := s.nextCommit(first, events)
	return &c
}

func (s *session) nextCommit(first int64, events []world.Event) world.Commit {
	unread := 0
	if s.m != nil {
		unread = s.m.Kept()
	}
	return world.Commit{
		Unread: unread, Run: s.own.run, Worker: s.own.worker, Claim: s.own.claim, Build: s.e.cfg.Build, First: first, Events: events, ID: commitID(),
	}
}

// spareCommit is the commit before the last, whose caller has its answer, or a new one. It is nobody else's: what a world is given it gives back with its
// answer.
func (s *session) spareCommit() *world.Commit {
	if c := s.desk.commit; c != nil {
		s.desk.commit = nil
		return c
	}
	return &world.Commit{}
}

// write commits until the outcome is known. An error is final: somebody else owns the run, the birth is refused, or the worker ends.
func (s *session) write(ctx context.Context, c *world.Commit) (world.Committed, error) {
	for try := 0; ; try++ {
		done, err := s.e.cfg.World.Commit(ctx, c)
		for errors.Is(err, world.ErrUnknownOutcome) && ctx.Err() == nil {
			s.doubt = true
			done, err = s.settle(ctx, c)
		}
		if err == nil {
			s.e.says.back("commit")
			if !s.e.holds(ctx, c.Worker) {
				return done, fmt.Errorf("run %s: %w", s.own.run, errWritten)
			}
			return done, nil
		}
		if final(err) || ctx.Err() != nil || c.Birth() {
			return done, err
		}
		s.e.says.away("commit", err)
		if !pause(ctx, retryPause(try)) {
			return done, err
		}
	}
}

// errWritten says that a commit was written whose run is not this session's any more.
var errWritten = fmt.Errorf("the lease ended during a commit: %w", world.ErrLeaseLost)

// settle finds out what became of a commit whose answer was lost.
func (s *session) settle(ctx context.Context, c *world.Commit) (world.Committed, error) {
	for try := 0; ; try++ {
		done, err := s.e.cfg.World.Outcome(ctx, c)
		switch {
		case err == nil, errors.Is(err, world.ErrLeaseLost), errors.Is(err, world.ErrReplaced), ctx.Err() != nil:
			return done, err
		case errors.Is(err, world.ErrNotFound):
			return s.e.cfg.World.Commit(ctx, c)
		}
		if !pause(ctx, retryPause(try)) {
			return done, err
		}
	}
}

// giveUp releases a run whose commit the world refuses for another reason than a lost lease, so that it does not stay owned by
// nobody: blocked, and tried again with backoff.
func (s *session) giveUp(ctx context.Context, err error) {
	if errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrClosed) || errors.Is(err, world.ErrReplaced) || ctx.Err() != nil {
		return
	}
	b := s.failure.record(fmt.Errorf("a commit was refused: %w", err), s.e.cfg.Build, s.now)
	c := s.newCommit(s.durable+1, nil)
	c.Release = &world.Release{Blocked: b, WakeAt: s.now.Add(blockBackoff(b.Tries))}
	if _, err := s.e.cfg.World.Commit(ctx, c); err != nil {
		s.e.says.lost(s.toName(), err)
		return
	}
	s.e.says.blocked(s.toName(), b)
	s.notes.tellBlocked(s.state, s.wf, b)
}

// restart gives the run up for its next claimer, which replays it from the log.
func (s *session) restart(ctx context.Context) {
	c := s.newCommit(s.durable+1, nil)
	c.Release = &world.Release{WakeAt: s.now}
	if _, err := s.write(ctx, c); err != nil {
		s.e.says.lost(s.toName(), err)
	}
	s.lose()
	s.stay.leaves(CameYielded)
	s.bodies.dropStarts()
	s.e.kick()
}

// final reports whether trying a commit again cannot help.
func final(err error) bool {
	for _, e := range []error{
		world.ErrLeaseLost, world.ErrTerminal, world.ErrConflict, world.ErrNotFound, world.ErrRunExists, world.ErrInvalid,
		world.ErrTooLarge, world.ErrClosed, world.ErrCorrupt, world.ErrNoKey, world.ErrWrongKey, world.ErrReplaced,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// startBodies starts what the commit recorded as started.
func (s *session) startBodies() {
	starts := s.bodies.drainStarts()
	for _, b := range starts {
		if b.task != nil {
			s.bodies.add(b)
			s.e.runTask(*b.task, s, b)
			continue
		}
		if b.parked {
			s.resumeParked(b)
			continue
		}
		op := s.m.Op(b.step)
		if op == nil {
			s.slots.back(1)
			continue
		}
		s.startBody(b, op.Key.Name, op.Input, op.Spec.(*StepSpec))
	}
	s.bodies.keepRoom(starts)
}

func (s *session) startBody(b *body, name string, input []byte, spec *StepSpec) {
	b.started = s.now
	s.bodies.add(b)
	if !spec.Task {
		s.trial.live()
	}
	b.sit(s.e, StepInfo{
		Run: s.own.run, Workflow: s.state.Birth.Workflow, Step: b.step, Name: name, Attempt: b.attempt, IdempotencyKey: b.step,
	}, s)
	b.timeout, b.silence, b.run, b.input, b.machine = b.policy.Timeout, b.policy.Heartbeat, spec.Run, input, s.m
	if b.policy.Tx {
		b.run = s.e.inTx(spec.Run, &b.tx)
	}
	s.notes.watchBody(s.state, b, name)
	b.start((*stepBody)(b))
}

// stepBody is a body that runs for its own session.
type stepBody body

// end tells the session what the body came to.
func (b *stepBody) end(r *result) {
	s := b.home
	s.e.live.Add(-1)
	r.at, r.tx = s.e.clock.now(), b.tx
	b.ctx.cancel(nil)
	if !s.box.post(message{kind: msgResult, at: r.at, step: b.step, attempt: b.attempt, result: r}) {
		s.e.rollback(r.tx)
		b.seat.give(r.slot, r.turn) // the session is gone: nobody records it
	}
}
