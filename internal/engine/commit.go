package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// commit writes the turn. It returns false when the session is over because its run belongs to somebody else, or its birth was
// refused.
func (s *session) commit(ctx context.Context) bool {
	if s.course.state().Status.Terminal() {
		s.turn.abroad().tell(farewell(ctx, s.e, s.course.state(), s.eval.machine()))
	}
	parts := s.pen.split(&s.turn, s.course.state().Seq, s.eval.unread())
	var outcome func()
	for i, c := range parts {
		if i > 0 {
			parts[i-1] = nil // what was written is held no longer
		}
		last := i == len(parts)-1
		known := len(c.Events)
		s.turn.abroad().others(c, s.steps.createChild)
		if last {
			s.turn.abroad().stage(c)
		}
		s.turn.posts().fill(c)
		done, err := s.pen.write(ctx, c, s.turn.posts())
		if errors.Is(err, errWritten) {
			s.bodies.reportUnbegun(c, s.course.now())
			s.pen.reach(c.First + int64(len(c.Events)) - 1)
			s.notes.tellAll(s.pen.durable())
		}
		switch {
		case s.birth != nil && i == 0:
			if !s.created(done, err) {
				return false
			}
		case err != nil:
			s.e.says.lost(s.course.name(), err)
			s.giveUp(ctx, err)
			s.lose()
			s.bodies.dropStarts()
			return false
		}
		s.pen.reach(c.First + int64(len(c.Events)) - 1)
		if len(done.Events) > 0 {
			s.pen.reach(done.Events[len(done.Events)-1].Seq)
		}
		s.notes.tellAll(s.pen.durable())
		if c.Release != nil {
			s.notes.tellBlocked(s.course.state(), s.eval.workflow(), c.Release.Blocked)
		}
		if len(done.Events) > len(c.Events) && !last { // it shifts what was to follow: begin anew from the log
			s.restart(ctx)
			return false
		}
		if len(c.Conditions)+len(c.Anew) > 0 {
			outcome = func() { s.course.settled(c, known, done, s.pen.durable()) }
		}
		if last && (s.turn.released() != nil || s.course.state().Status.Terminal()) {
			s.stay.end()
			s.stay.releases(s.turn.released(), done.Mail, s.course.now())
			if s.course.state().Status.Terminal() {
				s.bodies.cancel(ErrRunOver)
				if s.course.state().Status == world.Failed && s.course.state().Error != nil {
					s.e.says.failed(s.course.name(), s.course.state().Error)
				}
				s.tellEnd()
			}
			if done.Mail {
				s.e.kick()
			}
		}
	}
	if len(parts) == 1 && outcome == nil {
		s.pen.keep(parts[0])
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

// giveUp releases a run whose commit the world refuses for another reason than a lost lease, so that it does not stay owned by
// nobody: blocked, and tried again with backoff. Where it says that the lease is lost the next account shows whether that is so.
func (s *session) giveUp(ctx context.Context, err error) {
	if errors.Is(err, world.ErrLeaseLost) {
		s.e.books.doubtsAll(s.e.pulse.begun())
		s.e.pulse.stirs()
	}
	if errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrClosed) || errors.Is(err, world.ErrReplaced) || ctx.Err() != nil {
		return
	}
	b := s.course.fault().record(fmt.Errorf("a commit was refused: %w", err), s.e.cfg.Build, s.course.now())
	c := s.pen.commit(s.pen.durable()+1, nil, s.eval.unread())
	c.Release = &world.Release{Blocked: b, WakeAt: s.course.now().Add(blockBackoff(b.Tries))}
	if _, err := s.e.cfg.World.Commit(ctx, c); err != nil {
		s.e.says.lost(s.course.name(), err)
		return
	}
	s.e.says.blocked(s.course.name(), b)
	s.notes.tellBlocked(s.course.state(), s.eval.workflow(), b)
}

// restart gives the run up for its next claimer, which replays it from the log.
func (s *session) restart(ctx context.Context) {
	c := s.pen.commit(s.pen.durable()+1, nil, s.eval.unread())
	c.Release = &world.Release{WakeAt: s.course.now()}
	if _, err := s.pen.write(ctx, c, nil); err != nil {
		s.e.says.lost(s.course.name(), err)
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
		world.ErrTooLarge, world.ErrClosed, world.ErrCorrupt, world.ErrNoKey, world.ErrWrongKey, world.ErrReplaced, world.ErrReceipt,
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
func (w *steps) startBodies() {
	starts := w.bodies.drainStarts()
	for _, b := range starts {
		if b.task != nil {
			w.bodies.add(b)
			w.e.runTask(*b.task, w.box, b)
			continue
		}
		if b.parked {
			w.resumeParked(b)
			continue
		}
		op := w.eval.machine().Op(b.step)
		if op == nil {
			w.slots.back(1)
			continue
		}
		w.startBody(b, op.Key.Name, op)
	}
	w.bodies.keepRoom(starts)
}

func (w *steps) startBody(b *body, name string, op *replay.Op) {
	spec := op.Spec.(*StepSpec)
	b.started = w.course.now()
	w.bodies.add(b)
	if !spec.Task {
		w.eval.strictly().live()
	}
	b.sit(w.e, StepInfo{
		Run: w.own.run, Workflow: w.course.state().Birth.Workflow, Step: b.step, Name: name, Attempt: b.attempt, IdempotencyKey: b.step, Undoes: spec.Undoes,
	}, w.box)
	b.timeout, b.silence, b.run, b.input, b.machine = b.policy.Timeout, b.policy.Heartbeat, spec.Run, op.Input, w.eval.machine()
	if b.policy.Tx {
		b.run = w.e.inTx(spec.Run, &b.tx)
	}
	b.run = whole(w.e, b.run, w.own.run, op.Apart)
	w.notes.watchBody(w.course.state(), b, name)
	b.start((*stepBody)(b))
}

// stepBody is a body that runs for its own session.
type stepBody body

// end tells the session what the body came to.
func (b *stepBody) end(r *result) {
	e := b.seat.e
	e.live.Add(-1)
	r.at, r.tx = e.clock.now(), b.tx
	b.ctx.cancel(nil)
	if !b.seat.home.post(message{kind: msgResult, at: r.at, step: b.step, attempt: b.attempt, result: r}) {
		e.rollback(r.tx)
		b.seat.give(r.slot, r.alone) // the session is gone: nobody records it
	}
}
