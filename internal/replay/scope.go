package replay

import (
	"cmp"
	"errors"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// ErrCancelled is what operations return in a cancelled part of a workflow.
var ErrCancelled = errors.New("cancelled")

// scope is a part of a workflow that can be cancelled together: the whole run, the items of a Map, what the author makes one. It knows what is open in it, so that a cancel
// costs no more than what it ends; a scope in which nothing is open is unknown to its parent.
type scope struct {
	parent    *scope
	cancelled bool
	late      bool    // it was cancelled as its time was up
	members   *member // a ring; the oldest; nil: none
	children  map[*scope]struct{}
	from      uintptr // where the author's code asked for this part, where its own calls do not show it: see [Ctx.From]; 0: they do
}

// member is something open that a cancel of its scope reaches: an operation, a receive, an Await.
type member struct {
	scope      *scope // nil: not, or no longer, open
	prev, next *member
	index      uint64 // order in which they were asked for
	what       interface{ cancel(m *Machine) }
}

func (s *scope) isCancelled() bool {
	for ; s != nil; s = s.parent {
		if s.cancelled {
			return true
		}
	}
	return false
}

// isLate reports whether the innermost cancelled one of the scope and those around it was cancelled as its time was up.
func (s *scope) isLate() bool {
	for ; s != nil; s = s.parent {
		if s.cancelled {
			return s.late
		}
	}
	return false
}

func (s *scope) empty() bool { return s.members == nil && len(s.children) == 0 }

// join enters v, which what is part of, into a scope.
func (m *Machine) join(s *scope, v *member, what interface{ cancel(m *Machine) }) {
	m.index++
	v.index, v.what, v.scope = m.index, what, s
	s.announce()
	if s.members == nil {
		v.prev, v.next = v, v
		s.members = v
		return
	}
	first := s.members
	v.prev, v.next = first.prev, first
	first.prev.next, first.prev = v, v
}

// leave takes v out of its scope.
func (v *member) leave() {
	s := v.scope
	if s == nil {
		return
	}
	if v.next == v {
		s.members = nil
	} else {
		v.prev.next, v.next.prev = v.next, v.prev
		if s.members == v {
			s.members = v.next
		}
	}
	v.scope, v.prev, v.next = nil, nil, nil
	s.retire()
}

// announce makes a scope that is no longer empty known to its parent.
func (s *scope) announce() {
	for ; s.parent != nil && s.empty(); s = s.parent {
		s.parent.announce()
		put(&s.parent.children, s, struct{}{})
		return
	}
}

// retire makes a scope that has become empty unknown to its parent.
func (s *scope) retire() {
	for ; s.parent != nil && s.empty(); s = s.parent {
		delete(s.parent.children, s)
	}
}

// collect lists what is open in the scope and below it.
func (s *scope) collect(all []*member) []*member {
	if v := s.members; v != nil {
		for {
			all = append(all, v)
			if v = v.next; v == s.members {
				break
			}
		}
	}
	for child := range s.children {
		all = child.collect(all)
	}
	return all
}

// cancelScope cancels a scope and what is below it: waits, hooks and other runs' results that coroutines wait for end with ErrCancelled
// at once, in the order in which they were asked for. Steps, and the runs behind children, are left to the engine: see [Machine.Cancelled].
func (m *Machine) cancelScope(s *scope) {
	if s.cancelled {
		return
	}
	s.cancelled = true
	all := s.collect(nil)
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.index, b.index) })
	for _, v := range all {
		v.what.cancel(m)
	}
}

// cancel ends the operation for the code. In the log it stays open until it ends there.
func (o *Op) cancel(m *Machine) {
	if o.future.done {
		return
	}
	switch o.Key.Kind {
	case world.KindClosure, world.KindTask:
		m.tell(o)
		return
	case world.KindChild:
		m.tell(o)
	}
	o.future.resolve(nil, ErrCancelled)
	m.stopWaiting(o)
}

// tell notes, once, that the engine has to end the operation.
func (m *Machine) tell(o *Op) {
	if !o.told {
		o.told = true
		m.cancels = append(m.cancels, o)
	}
}

// opened enters an operation that has an end.
func (m *Machine) opened(op *Op, s *scope) {
	m.open[op.ID] = op
	m.join(s, &op.member, op)
}

// ended forgets an operation that has ended in the log.
func (m *Machine) ended(op *Op) {
	delete(m.open, op.ID)
	op.member.leave()
}

// openOps lists the operations that the code waits for, or could, in the order in which they were asked for. It is for reports.
func (m *Machine) openOps() []*Op {
	var ops []*Op
	for _, op := range m.open {
		if !op.future.done || op.hook != nil {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *Op) int { return cmp.Compare(a.member.index, b.member.index) })
	return ops
}
