package replay

import (
	"cmp"
	"errors"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// ErrCancelled is what operations return in a cancelled part of a workflow.
var ErrCancelled = errors.New("cancelled")

// scope is a part of a workflow that can be cancelled together: the whole run, the items of a Map.
type scope struct {
	parent    *scope
	cancelled bool
}

func (s *scope) isCancelled() bool {
	for ; s != nil; s = s.parent {
		if s.cancelled {
			return true
		}
	}
	return false
}

// within reports whether s is root or below it.
func (s *scope) within(root *scope) bool {
	for ; s != nil; s = s.parent {
		if s == root {
			return true
		}
	}
	return false
}

// cancelScope cancels a scope and what is below it: waits, hooks and other runs' results that coroutines wait for end with ErrCancelled
// at once, in the order in which they were asked for. Steps are left to the engine: see [Machine.Cancelled].
func (m *Machine) cancelScope(s *scope) {
	if s.cancelled {
		return
	}
	s.cancelled = true
	for _, op := range m.openOps(func(op *Op) bool { return op.scope.within(s) }) {
		switch op.Key.Kind {
		case world.KindClosure, world.KindTask:
			m.cancels = append(m.cancels, op)
		case world.KindHook:
			op.hook.cancelReceivers(s)
			op.future.resolve(nil, ErrCancelled)
		default:
			m.dropWaiter(op)
			op.future.resolve(nil, ErrCancelled)
		}
	}
	for _, w := range m.conds {
		if w.scope.within(s) {
			w.cancelled = true
		}
	}
}

// openOps lists open operations in the order in which they were asked for.
func (m *Machine) openOps(keep func(*Op) bool) []*Op {
	var ops []*Op
	for _, op := range m.open {
		if keep(op) && (!op.future.done || op.hook != nil) {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *Op) int { return cmp.Compare(a.index, b.index) })
	return ops
}
