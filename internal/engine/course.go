package engine

// This file holds how far a run has come, in memory: what its log says, and where its code is.

import (
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// course is how far a run has come: its state, and with it the machine of its code.
//
//   - Both have seen the same events: those of the log, and behind them those of the turn. What the machine is to see
//     only when it is durable it has not seen yet. So the log, replayed, leads to the same machine.
//   - All events of the run go through it, are numbered by it, and are noted for whoever is to be told of them.
//   - When something is found that the run cannot go on with, the machine is fed nothing any more. The state goes
//     on: what bodies came to is kept.
type course struct {
	e       *Engine
	own     *title
	turn    *turn
	notes   *notes
	does    doer
	eval    *evaluation
	st      *world.State
	moment  time.Time // by the world's clock, read once a turn
	failure failure
}

// doer does what the code asks for.
type doer interface {
	// record puts what the code asked for into the turn.
	record(op *replay.Op)
	// stop starts nothing any more.
	stop()
}

// standAt goes by what the queue says of a run: its log is not read.
func (c *course) standAt(seq int64, status world.Status) {
	c.st = &world.State{ID: c.own.run, Seq: seq, Status: status}
}

// look takes the time for a turn, and now is that.
func (c *course) look(now time.Time) { c.moment = now }
func (c *course) now() time.Time     { return c.moment }

// state is what the log and the turn say; nil: nothing was read yet. Only a course, and who reads it, applies events.
func (c *course) state() *world.State { return c.st }

// blocked reports whether the run is to be blocked, and fault is why.
func (c *course) blocked() bool   { return c.failure.some() }
func (c *course) fault() *failure { return &c.failure }

// feed lets the machine go on with events that were folded. It reports whether it could.
func (c *course) feed(events []world.Event) bool {
	err := c.eval.machine().Feed(events, false)
	if err != nil {
		seq := c.st.Seq
		for i := range events {
			seq = events[i].Seq
		}
		c.fail(err, seq)
	}
	return err == nil
}

// keep folds an event that is durable already, and was not in a turn. The machine does not see it yet.
func (c *course) keep(e *world.Event) error {
	about := c.notes.subjectOf(c.st, e)
	if _, err := c.st.Apply(e, time.Time{}); err != nil {
		return err
	}
	c.notes.note(c.st, e, about)
	return nil
}

// goOn begins the code of the next segment. With none, it is left to others.
func (c *course) goOn(wf *Workflow, with carried) {
	if c.eval.next(wf, with, c.st) && c.feed(c.turn.last()) {
		c.create()
	}
}
