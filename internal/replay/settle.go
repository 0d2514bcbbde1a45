package replay

// This file is for what follows when the workflow's function has returned and the run is not over yet: see the root package's Undo.

import (
	"cmp"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Local is a place for what the code of this evaluation keeps beside the machine; nil for a caller that is foreign or
// panics.
func (x *Ctx) Local() *any {
	if _, err := x.m.operate(); err != nil {
		return nil
	}
	return &x.m.local
}

// Settle cancels the scope, and blocks until the steps in it have ended: a body that runs may return a value yet, which the code sees. The engine bounds how
// long that takes.
func (x *Ctx) Settle() {
	x.Cancel()
	for {
		op := x.scope.firstStep()
		if op == nil || !x.Wait(op.future) {
			return
		}
	}
}

// firstStep is the step that was asked for first of those that have not ended in the scope and below it.
func (s *scope) firstStep() *Op {
	all := s.collect(nil)
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.index, b.index) })
	for _, v := range all {
		op, ok := v.what.(*Op)
		if ok && !op.future.done && (op.Key.Kind == world.KindClosure || op.Key.Kind == world.KindTask) {
			return op
		}
	}
	return nil
}
