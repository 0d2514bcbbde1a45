package engine

// This file holds how far a run has come, in memory: what its log says, and where its code is.

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// course is how far a run has come: its state and its machine.
//
//   - Both have seen the same events: those of the log, and behind them those of the turn. What the machine is to see
//     only when it is durable it has not seen yet. So the log, replayed, leads to the same machine.
//   - All events of the run go through it, are numbered by it, and are noted for whoever is to be told of them.
//   - When something is found that the run cannot go on with, the machine is fed nothing any more. The state goes on: what
//     bodies came to is kept.
type course struct {
	e       *Engine
	own     *title
	turn    *turn
	notes   *notes
	does    doer
	wf      *Workflow // nil: claimed only to be cancelled
	st      *world.State
	m       *replay.Machine
	watched atomic.Pointer[replay.Machine] // the machine that is fed; for the watch
	moment  time.Time                      // by the world's clock, read once a turn
	failure failure
	trial   trial
	carried carried           // what the segment started with
	old     []*replay.Machine // of segments that are over, while bodies run that they asked for
}

// doer does what the code asks for.
type doer interface {
	// record puts what the code asked for into the turn.
	record(op *replay.Op)
	// stop starts nothing any more, and says more of why, where it can.
	stop(why error) error
}

// take begins with the code that there is for a run; nil: it is let alone.
func (c *course) take(wf *Workflow) { c.wf = wf }

// standAt goes by what the queue says of a run: its log is not read.
func (c *course) standAt(seq int64, status world.Status) {
	c.st = &world.State{ID: c.own.run, Seq: seq, Status: status}
}

// look takes the time for a turn, and now is that.
func (c *course) look(now time.Time) { c.moment = now }
func (c *course) now() time.Time     { return c.moment }

// state is what the log and the turn say; nil: nothing was read yet. Only a course applies events to it. machine is the
// code; nil: there is none. workflow is the definition; nil: this worker has none.
func (c *course) state() *world.State      { return c.st }
func (c *course) machine() *replay.Machine { return c.m }
func (c *course) workflow() *Workflow      { return c.wf }

// blocked reports whether the run is to be blocked, and fault is why.
func (c *course) blocked() bool   { return c.failure.some() }
func (c *course) fault() *failure { return &c.failure }

// strictly is what strict mode knows.
func (c *course) strictly() *trial { return &c.trial }

// evaluating is the machine that is fed; nil: there is none. Anybody may ask.
func (c *course) evaluating() *replay.Machine { return c.watched.Load() }

// feed lets the machine go on with events that were folded. It reports whether it could.
func (c *course) feed(events []world.Event) bool {
	err := c.m.Feed(events, false)
	if err != nil {
		seq := c.st.Seq
		if n := len(events); n > 0 {
			seq = events[n-1].Seq
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

// unread is how many payloads the code has not taken.
func (c *course) unread() int {
	if c.m == nil {
		return 0
	}
	return c.m.Kept()
}

// enter makes the machine of a segment that was read from the log, and bear that of a run whose birth is in the turn.
func (c *course) enter(unread []world.Event) {
	c.carried = carried{
		unread: unread, attributes: maps.Clone(c.st.Attributes), hooks: slices.SortedFunc(c.st.Hooks(), byHookID),
	}
	c.trial.segment()
	if c.wf != nil {
		c.newMachine()
		c.m.SetReplaying(true)
	}
}

func (c *course) bear() {
	c.carried.attributes = c.st.Birth.Attributes
	c.newMachine()
}

// leaveSegment puts the machine of a segment away that is over. It is unwound as soon as no body runs that it asked for:
// now, or at the end.
func (c *course) leaveSegment(idle bool) {
	c.old = append(c.old, c.m)
	for _, w := range c.trial.leave() {
		c.old = append(c.old, w.m)
	}
	if idle {
		c.unwind()
	}
}

func (c *course) unwind() {
	for _, m := range c.old {
		c.e.unwind(m)
	}
	c.old = nil
}

// goOn begins the code of the next segment. With none, it is left to others.
func (c *course) goOn(wf *Workflow, with carried) {
	c.carried = with
	if wf == nil {
		c.m = nil
		c.watched.Store(nil)
		return
	}
	c.wf = wf
	c.newMachine()
	if c.feed(c.turn.last()) {
		c.create()
	}
}

func (c *course) newMachine() {
	c.m = c.anew()
	c.watched.Store(c.m)
}

// anew makes a machine for the run's present segment.
func (c *course) anew() *replay.Machine {
	return replay.New(replay.Config{
		Run: c.own.run, Created: c.st.CreatedAt, Seed: c.st.Birth.Seed, Segment: c.st.Segment,
		Build: c.e.cfg.Build, Strict: c.e.cfg.Strict, Secret: c.e.cfg.Secret,
		Fails: c.wf.crashes(),
		Fork:  c.st.Birth.Origin != nil, Unread: c.carried.unread, Hooks: c.carried.hooks, Attributes: c.carried.attributes,
	}, c.wf.Body(c.st.Input))
}
