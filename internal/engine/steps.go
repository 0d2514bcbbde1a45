package engine

// This file holds the steps of a run as far as its session does something about them.

import (
	"github.com/stepwell/stepwell/internal/replay"
)

// steps are what a session does about the steps of its run: what the code asked for becomes events, bodies and
// tasks, and what these come to becomes events.
//
//   - A start is in the log before its body begins, and has a slot when it is put there.
//   - A step that is asked for is started, queued or timed where that is put into the turn, and nowhere else.
//   - A child that the code waits for no longer is cancelled with the end of its step, and only where it is known to
//     be the run's own.
type steps struct {
	e         *Engine
	own       *title
	course    *course
	eval      *evaluation
	turn      *turn
	bodies    *bodies
	ready     *readySteps
	timers    *timers
	slots     *stepSlots
	isolation *isolation
	stay      *stay
	notes     *notes
	box       *mailbox
	losers    []*replay.Op // children that lost before the world had decided whether they are there
	loaded    int64        // number of the last event of the log when the run was claimed
}

// loads says how far the log went when the run was claimed.
func (w *steps) loads(seq int64) { w.loaded = seq }

// stop starts nothing any more.
func (w *steps) stop() { w.ready.drop() }

// leaveSegment drops what belongs to a segment that is over.
func (w *steps) leaveSegment() {
	w.bodies.dropStarts()
	w.ready.drop()
	w.losers = nil
}

// cancels reports whether the code has cancelled steps that are yet to be told. They are before the next deadline passes:
// so the code sees one by one, as it would have, what fell due while nobody had the run.
func (w *steps) cancels() bool {
	if w.eval.machine() != nil {
		w.losers = append(w.losers, w.eval.machine().Cancelled()...)
	}
	return len(w.losers) > 0
}
