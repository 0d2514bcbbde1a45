package replay

// This file finds operations that were put into the code before what a run has recorded. Nothing may wait for them, as for a message that is
// sent or an attribute, so that neither a result nor a creation in the log tells of them.
//
// Creations are recorded in the order in which the code asks, and a turn is cut, if at all, at its end. So an operation that is not in the log,
// although one that was asked for behind it is, was not there when the log was written. Their order among themselves does not matter.

import "github.com/stepwell/stepwell/world"

// past is how far the log goes in what the code has asked for.
type past struct {
	order  uint64       // of the last operation that is recorded
	jumped *world.Event // the first that was recorded with one before it that was not, as yet; nil: none
}

// goesTo notes that an operation is recorded. jumps: one before it is not.
func (p *past) goesTo(op *Op, e *world.Event, jumps bool) {
	p.order = max(p.order, op.order)
	if jumps && p.jumped == nil {
		kept := *e
		p.jumped = &kept
	}
}

// checkPast reports, where the log comes to its end, what the code has asked for before what is recorded.
func (m *Machine) checkPast() {
	if m.past.jumped == nil {
		return
	}
	left := false
	for _, op := range m.asked.list() {
		if op.order > m.past.order {
			break
		}
		if m.goesFirst(op) {
			e := m.past.jumped
			m.fail(m.diverged(e, describe(e.Type, e.Key(m.cfg.Segment)), op))
			return
		}
		left = true
	}
	if !left {
		m.past.jumped = nil
	}
}

// goesFirst reports whether an operation is recorded before all that is asked for behind it. The world decides on chosen tokens later. A fork has
// only those steps of its source that have a result. It has no attribute that holds a token which is another in the fork: its code sets that anew, and
// a result of the source may be where the token comes from. A run that has come to its end has nothing that would end with it.
func (m *Machine) goesFirst(op *Op) bool {
	switch {
	case op.Key.Kind.Decision() || op.Chosen && op.Type == world.HookCreated:
		return false
	case op.Type == world.AttrSet && (m.cfg.Fork || len(m.own) > 0):
		return false
	case lasts(op):
		return true
	case op.Type != world.StepCreated && op.Type != world.WaitCreated && op.Type != world.HookCreated:
		return false
	}
	return !m.cfg.Fork && m.outcome == nil
}

// lasts reports whether an operation is done with its record, and recorded also where the code asks for it last of all.
func lasts(op *Op) bool {
	return op.Type == world.AttrSet || op.Type == world.StepCreated && (op.Key.Kind == world.KindStream || op.Key.Kind.Posts())
}
