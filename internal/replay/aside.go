package replay

// This file decides whether a payload from outside is one that the code can take. What does not fit must not stop the run: it is set aside, and that is
// recorded, so that a replay decides the same whatever the code's types are by then.
//
// What is taken stays taken, too. Of an event the end of its wait says so. Of a hook's payload any later creation of its turn does, or any later result: had
// it been set aside, that record would stand before them. Where a turn ends with nothing behind the payload, the taking gets a record of its own.

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Check is what a payload from outside has to pass before the code takes it.
type Check struct {
	Fits func(payload []byte) *world.Error // nil: it fits; else why not. It must not panic, and not use the Context.
	Tell bool                              // what does not fit ends the wait with a [*MisfitError]; else the wait goes on. What the log says of a payload counts
}

// MisfitError says that a payload does not fit the code that was to take it.
type MisfitError struct {
	Seq    int64 // of the event that brought it
	Reason *world.Error

	told bool // the code gets the error
}

func (e *MisfitError) Error() string { return fmt.Sprintf("event %d: %s", e.Seq, e.Reason.Message) }

// Unwrap returns what did not fit.
func (e *MisfitError) Unwrap() error { return e.Reason }

// decisions is what the events at hand say of payloads, by the numbers of the events that brought these. It is read once, when it is first asked for.
type decisions struct {
	read     bool
	aside    map[int64]*world.Event // the record that it was set aside
	accepted map[int64]bool         // a wait ended with it, or its taking has a record of its own
}

// acceptance is a payload of a hook that the code took in this turn.
type acceptance struct {
	hook *hook
	seq  int64
}

// misfit decides whether what an operation, a wait or a hook, is about to take fits; nil: it does. The record decides, where replay finds one. Where it finds
// none, but the end of the wait by that payload, or, of a hook, the record of its taking or anything later, the payload was taken: it fitted then, and if it does
// not fit today's code, that has changed. Else it is looked at. What does not fit is asked to be recorded.
func (m *Machine) misfit(op *Op, c *Check, seq int64, payload []byte) *MisfitError {
	if c == nil {
		return nil
	}
	m.readDecisions()
	var reason *world.Error
	told := c.Tell
	if rec := m.decisions.aside[seq]; rec != nil {
		if reason = rec.Error; reason == nil {
			reason = &world.Error{Message: "it did not fit", Code: world.CodeDecode}
		}
		if rec.Outcome != "" { // earlier releases did not say
			told = rec.Outcome == world.OutcomeTold
		}
	} else if m.decisions.accepted[seq] {
		if op.hook != nil {
			m.askAccepted(op, seq)
		}
		return nil
	} else if op.hook != nil && m.replaying.Load() && !m.last() {
		return nil
	} else if reason = c.Fits(payload); reason == nil {
		if op.hook != nil {
			m.acceptances = append(m.acceptances, acceptance{op.hook, seq})
		}
		return nil
	}
	aside := m.decision(world.KindAside, &m.asides, op, seq)
	aside.Reason, aside.Told = reason, told
	m.ask(aside)
	return &MisfitError{Seq: seq, Reason: reason, told: told}
}

// settleAcceptances ends a turn: what the code took with nothing behind it in the log gets a record, or the next replay could not tell that it was taken. Where the
// code has come to its end, that is the record.
func (m *Machine) settleAcceptances() {
	all := m.acceptances
	m.acceptances = nil
	if m.outcome != nil || m.failure != nil {
		return
	}
	for _, t := range all {
		m.askAccepted(t.hook.op, t.seq)
	}
}

func (m *Machine) askAccepted(op *Op, seq int64) {
	m.ask(m.decision(world.KindAccepted, &m.accepted, op, seq))
}

// decision is the record of what became of a payload. They are counted by the name of the event or hook, and the counts say which is which.
func (m *Machine) decision(kind world.Kind, counts *map[string]int, op *Op, seq int64) *Op {
	k := world.Key{Segment: m.cfg.Segment, Kind: kind, Name: op.Key.Name, Occurrence: (*counts)[op.Key.Name]}
	put(counts, op.Key.Name, k.Occurrence+1)
	record := &Op{Type: world.StepCreated, ID: m.id(k), Key: k, From: seq, scope: m.root, future: m.future(nil)}
	if op.hook != nil {
		record.Peer = op.ID
	}
	return record
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
			put(&d.accepted, e.From, true)
		case e.Type == world.StepCreated && e.Kind == world.KindAccepted:
			put(&d.accepted, e.From, true)
		}
	}
}
