package replay

import "github.com/stepwell/stepwell/world"

// ahead is what Patched has read of the log behind the result that is being delivered: the creations up to the next result. The record of a chosen
// token does not end them, though it is a result, as the code may have asked for that token and for the patch in one turn.
type ahead struct {
	read    bool
	patches map[string]bool // recorded in it
	next    int             // creations before it are asked for
	result  bool            // a result follows
	other   bool            // one that is not the record of a chosen token
}

// decision is what Patched came to, once a segment.
type decision int8

const (
	oldWay decision = iota + 1
	newWay
	// passedBy is the old way, as the log has no record though the code came by in a cancelled part: releases that decided
	// nothing there may have decided for the new way later.
	passedBy
)

// Patched decides whether changed code takes its new way: yes where nothing later is in the log, which is then recorded; as recorded
// where replay finds the record; no where replay goes on without one. One ID is decided once a segment, also in a
// cancelled part.
func (x *Ctx) Patched(id string) (bool, error) {
	free := x.Uncancelled()
	c, err := free.begin("patch ID", world.KindPatch, id)
	if err != nil {
		return false, err
	}
	m := x.m
	was := m.patches[id]
	if was == oldWay || was == newWay {
		return was == newWay, nil
	}
	m.readAhead()
	on := m.ahead.patches[id] || was == 0 && !m.ahead.result && m.behind == nothing && m.last()
	is := newWay
	switch {
	case on:
		op := m.opening(free, world.StepCreated, m.key(c, world.KindPatch, id))
		op.future.resolve(nil, nil)
		m.ask(op)
	case was == passedBy || x.scope.isCancelled():
		is = passedBy
	default:
		is = oldWay
	}
	put(&m.patches, id, is)
	return on, nil
}

func (m *Machine) readAhead() {
	a := &m.ahead
	if a.read {
		return
	}
	a.read, a.next = true, m.at+1
	for i := m.at + 1; i < len(m.fed); i++ {
		e := &m.fed[i]
		if m.drives(e) {
			a.result = true
			if !decides(e) {
				a.other = true
				return
			}
		}
		if e.Type == world.StepCreated && e.Kind == world.KindPatch {
			put(&a.patches, e.Name, true)
		}
	}
}

// last reports whether nothing later is in the log that may come of this turn: no result but the records of chosen tokens, which come before any code
// goes on, and no creation that the code has not asked for.
func (m *Machine) last() bool {
	m.readAhead()
	a := &m.ahead
	if a.other {
		return false
	}
	for ; a.next < len(m.fed); a.next++ {
		if e := &m.fed[a.next]; e.Creation() && m.asked.find(e.Type, e.ID) < 0 {
			return false
		}
	}
	return true
}
