package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

// This file runs steps in transactions of the database below the world: what a body writes and the end of its step commit together, so that both
// happen exactly once.

// errNoTransactions is what a transactional step fails with where the world has none.
var errNoTransactions = &FatalError{Err: fmt.Errorf(
	"%w: a transactional step needs a store that shares transactions, like PostgreSQL; this one does not", world.ErrInvalid)}

// inTx is fn in a transaction of its own. Where fn comes to a value the transaction is left open in *kept, to be committed with the
// step's end; else it is rolled back.
func (e *Engine) inTx(fn bodyFunc, kept *world.Tx) bodyFunc {
	return func(ctx context.Context, input []byte) (payload []byte, err error) {
		if e.able.Transactor == nil {
			return nil, errNoTransactions
		}
		tx, err := e.able.Transactor.Begin(ctx)
		if err != nil {
			return nil, fmt.Errorf("begin the step's transaction: %w", err)
		}
		defer func() { // also when fn panics
			if *kept == nil {
				e.rollback(tx)
			}
		}()
		if payload, err = fn(world.WithTx(ctx, tx), input); err == nil {
			*kept = tx
		}
		return payload, err
	}
}

// contended reports whether the database refused the transaction of an attempt only as others came to the same rows at the
// same time: a serialization failure or a deadlock. Nothing was written, and the step is not to blame.
func contended(err error) bool {
	refused, ok := codec.As[interface {
		error
		SQLState() string
	}](err)
	return ok && (refused.SQLState() == "40001" || refused.SQLState() == "40P01")
}

// verdict is Verdict on an attempt behind so many failures, and so many that were given up. One that the database refused as
// contended uses up no attempt: given is then what the log has of it, if another follows.
func (p Policy) verdict(told *Told, failures, abandons int, first, now time.Time) (delay time.Duration, again bool, given *world.Error) {
	if told.Contended {
		free := p
		free.Attempts = -1
		if _, again := free.Verdict(told, max(failures, 1), first, now); again {
			return retryPause(abandons), true, abandoned("the database refused its transaction: " + told.Text)
		}
	}
	delay, again = p.Verdict(told, failures+1, first, now)
	return delay, again, nil
}

// rollback undoes what an attempt wrote whose end is not to be recorded. nil is nothing to undo.
func (e *Engine) rollback(tx world.Tx) {
	if tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.workCtx), rollbackTime)
	defer cancel()
	if err := tx.Rollback(ctx); err != nil {
		e.cfg.Logger.Info("a step's transaction could not be rolled back; the database rolls it back when the connection ends", "err", err)
	}
}

// rollbackTime is how long a rollback may take before its connection is given up.
const rollbackTime = 5 * time.Second

// commitResult commits what a body wrote and the end of its step, and only then lets the code see it. An error, with nothing written, is the
// attempt's. The session may be over afterwards: its run belongs to somebody else.
func (s *session) commitResult(step string, b *body, r *result) error {
	e := world.Event{Type: world.StepCompleted, ID: step, Attempt: b.attempt, Payload: r.payload, Time: s.course.at(), Seq: s.course.state().Seq + 1}
	c := s.pen.commit(e.Seq, []world.Event{e}, s.eval.unread())
	c.Streams = r.streams
	if err := s.pen.writeIn(s.e.workCtx, r.tx, c); err != nil {
		if errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrClosed) || s.e.workCtx.Err() != nil {
			s.e.says.lost(s.course.name(), err)
			s.lose()
		}
		return err
	}
	s.isolation.strike(false)
	if err := s.course.keep(&e); err != nil {
		s.course.fail(err, e.Seq)
		return nil
	}
	s.pen.reach(s.course.state().Seq)
	s.notes.tellAll(s.pen.durable())
	seen := []world.Event{e}
	s.eval.strictly().record(seen)
	s.seeLater(seen)
	return nil
}

// endTaskInTx commits what the body of a queued step wrote with the end of its attempt, and reports whether it did. If not, nothing was written, and
// the attempt failed with r.err. why is why its context ended, if it did. Where the answer was lost this holds too: if the commit was written after all, the world refuses any other end.
func (e *Engine) endTaskInTx(why error, d *world.Delivery, r *result) bool {
	tx := r.tx
	r.tx = nil
	if d.Events[len(d.Events)-1].Type != world.StepCompleted || errors.Is(why, ErrRunOver) || errors.Is(why, world.ErrLeaseLost) {
		e.rollback(tx)
		return false
	}
	_, err := e.able.Transactor.DeliverIn(e.workCtx, tx, d)
	if err == nil {
		err = tx.Commit(e.workCtx)
	}
	if err != nil {
		e.rollback(tx)
		r.err = err
	}
	return err == nil
}
