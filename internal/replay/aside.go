package replay

// This file decides whether a payload from outside is one that the code can take. What does not fit must not stop the run: it is set aside, and that is
// recorded, so that a replay decides the same whatever the code's types are by then.

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Check is what a payload from outside has to pass before the code takes it.
type Check struct {
	Fits func(payload []byte) *world.Error // nil: it fits; else why not. It must not panic, and not use the Context.
	Tell bool                              // what does not fit ends the wait with a [*MisfitError]; else it is set aside, and the wait goes on
}

// MisfitError says that a payload does not fit the code that was to take it.
type MisfitError struct {
	Seq    int64 // of the event that brought it
	Reason *world.Error
}

func (e *MisfitError) Error() string { return fmt.Sprintf("event %d: %s", e.Seq, e.Reason.Message) }

// Unwrap returns what did not fit.
func (e *MisfitError) Unwrap() error { return e.Reason }

// decisions is what the events at hand say of payloads, by the numbers of the events that brought these. It is read once, when it is first asked for.
type decisions struct {
	read  bool
	aside map[int64]*world.Event // the record that it was set aside
	taken map[int64]bool         // a wait ended with it
}

// misfit decides whether what an operation, a wait or a hook, is about to take fits; nil: it does. The record decides, where replay finds one. Where it finds
// none, but the end of the wait by that payload, or, of a hook, anything later, the payload was taken: it fitted then, and if it does not fit today's code, that
// has changed. Else it is looked at. What does not fit is asked to be recorded.
func (m *Machine) misfit(op *Op, c *Check, seq int64, payload []byte) *MisfitError {
	if c == nil {
		return nil
	}
	m.readDecisions()
	var reason *world.Error
	if rec := m.decisions.aside[seq]; rec != nil {
		if reason = rec.Error; reason == nil {
			reason = &world.Error{Message: "it did not fit", Code: world.CodeDecode}
		}
	} else if m.decisions.taken[seq] || op.hook != nil && m.replaying.Load() && !m.last() {
		return nil
	} else if reason = c.Fits(payload); reason == nil {
		return nil
	}
	k := world.Key{Segment: m.cfg.Segment, Kind: world.KindAside, Name: op.Key.Name, Occurrence: m.asides[op.Key.Name]}
	put(&m.asides, op.Key.Name, k.Occurrence+1)
	aside := &Op{Type: world.StepCreated, ID: m.id(k), Key: k, From: seq, Reason: reason, scope: m.root, future: m.future(nil)}
	if op.hook != nil {
		aside.Peer = op.ID
	}
	m.ask(aside)
	return &MisfitError{Seq: seq, Reason: reason}
}

func (m *Machine) readDecisions() {
	d := &m.decisions
	if d.read {
		return
	}
	d.read = true
	for i := m.at + 1; i < len(m.fed); i++ {
		switch e := &m.fed[i]; {
		case e.Type == world.StepCreated && e.Kind == world.KindAside:
			put(&d.aside, e.From, e)
		case e.Type == world.WaitCompleted && e.Outcome == world.OutcomeReceived:
			put(&d.taken, e.From, true)
		}
	}
}
