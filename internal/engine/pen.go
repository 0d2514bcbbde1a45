package engine

// This file writes the commits of a session, whatever becomes of the answers.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// pen makes and writes a session's commits.
//
//   - A commit is written until it is known what became of it, and once.
//   - What is durable never becomes less; nobody is told of what is behind it.
//   - A commit that was answered is used again, unless there was a doubt: then its world may still look at it.
type pen struct {
	e     *Engine
	own   *title
	last  int64            // number of the last event that is committed
	doubt bool             // the outcome of a commit was unknown for a while
	parts [1]*world.Commit // what split returns, as a rule
	spare *world.Commit    // is nobody's; nil: there is none
}

// durable is the number of the last event that is committed, and reach says that it is another.
func (p *pen) durable() int64  { return p.last }
func (p *pen) reach(seq int64) { p.last = seq }

// open gives the pen a commit to use, and room takes one back. keep takes one that was answered.
func (p *pen) open(c *world.Commit) { p.spare = c }
func (p *pen) room() *world.Commit  { return p.spare }
func (p *pen) keep(c *world.Commit) {
	if !p.doubt {
		p.spare = c
	}
}

// split makes commits of a turn whose last event has a number: one, unless it is too large. Results, mail and held
// tasks are in the first, starts and the release in the last.
func (p *pen) split(t *turn, seq int64, unread int) []*world.Commit {
	events := t.all()
	first := seq - int64(len(events)) + 1
	if t.large() {
		return t.splitLarge(first, func(first int64, events []world.Event) *world.Commit { return p.commit(first, events, unread) })
	}
	c := p.fresh()
	*c = p.next(first, events, unread)
	t.fill(c)
	return append(p.parts[:0], c)
}

// commit makes a commit of events, of which the first has a number; unread is how many payloads the code has not
// taken.
func (p *pen) commit(first int64, events []world.Event, unread int) *world.Commit {
	c := p.next(first, events, unread)
	return &c
}

func (p *pen) next(first int64, events []world.Event, unread int) world.Commit {
	return world.Commit{
		Unread: unread, Run: p.own.run, Worker: p.own.worker, Claim: p.own.claim, Build: p.e.cfg.Build, First: first, Events: events, ID: commitID(),
	}
}

// fresh is the commit before the last, whose caller has its answer, or a new one. It is nobody else's: what a world
// is given it gives back with its answer.
func (p *pen) fresh() *world.Commit {
	if c := p.spare; c != nil {
		p.spare = nil
		return c
	}
	return &world.Commit{}
}

// write commits until the outcome is known. An error is final: somebody else owns the run, the birth is refused, or
// the worker ends. Queues of its messages that are not there are made: posts has them.
func (p *pen) write(ctx context.Context, c *world.Commit, posts *post) (world.Committed, error) {
	for try := 0; ; try++ {
		done, err := p.e.cfg.World.Commit(ctx, c)
		for errors.Is(err, world.ErrUnknownOutcome) && ctx.Err() == nil {
			p.doubt = true
			done, err = p.settle(ctx, c)
		}
		if err == nil {
			p.e.says.back("commit")
			if !p.e.holds(ctx, c.Worker) {
				return done, fmt.Errorf("run %s: %w", p.own.run, errWritten)
			}
			return done, nil
		}
		if errors.Is(err, world.ErrNotFound) && len(c.Messages) > 0 && try < createTries {
			if err = posts.declare(ctx, p.e.cfg.World.Messages(), c); err == nil {
				continue
			}
		}
		if final(err) || ctx.Err() != nil || c.Birth() {
			return done, err
		}
		p.e.says.away("commit", err)
		if !pause(ctx, retryPause(try)) {
			return done, err
		}
	}
}

// errWritten says that a commit was written whose run is not this session's any more.
var errWritten = fmt.Errorf("the lease ended during a commit: %w", world.ErrLeaseLost)

// settle finds out what became of a commit whose answer was lost.
func (p *pen) settle(ctx context.Context, c *world.Commit) (world.Committed, error) {
	for try := 0; ; try++ {
		done, err := p.e.cfg.World.Outcome(ctx, c)
		switch {
		case err == nil, errors.Is(err, world.ErrLeaseLost), errors.Is(err, world.ErrReplaced), ctx.Err() != nil:
			return done, err
		case errors.Is(err, world.ErrNotFound):
			return p.e.cfg.World.Commit(ctx, c)
		}
		if !pause(ctx, retryPause(try)) {
			return done, err
		}
	}
}

// writeIn commits a commit with the transaction of a body, whose outcome it finds out. After an error nothing was
// written.
func (p *pen) writeIn(ctx context.Context, tx world.Tx, c *world.Commit) error {
	_, err := p.e.able.Transactor.CommitIn(ctx, tx, c)
	if err == nil {
		err = tx.Commit(ctx)
	}
	for try := 0; errors.Is(err, world.ErrUnknownOutcome) && ctx.Err() == nil; try++ {
		_, known := p.e.cfg.World.Outcome(ctx, c)
		switch {
		case known == nil, errors.Is(known, world.ErrLeaseLost):
			err = known
		case errors.Is(known, world.ErrNotFound):
			err = fmt.Errorf("the step's transaction was lost with its connection; nothing was written: %w", world.ErrStorage)
		default:
			pause(ctx, retryPause(try))
		}
	}
	if err != nil {
		p.e.rollback(tx)
		return err
	}
	if !p.e.lease.runs() && !p.e.confirm(ctx, c.Worker) {
		return fmt.Errorf("run %s: the lease ran out during a commit: %w", p.own.run, world.ErrLeaseLost)
	}
	return nil
}
