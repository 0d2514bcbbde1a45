package replay

// This file tells what the code really waits for, of all that is open: a timer that lost a race is open too.

import "github.com/stepwell/stepwell/world"

// Awaiting says how a run's code waits for something.
type Awaiting int

// From what the code cannot go on without to what nobody waits for.
const (
	AwaitedByMain Awaiting = iota // the workflow function itself does
	AwaitedBeside                 // a coroutine beside it does
	Unawaited
)

// Awaited says who waits for an open operation: for a hook's next payload, for a condition that a wait is the deadline of, else for its end.
func (m *Machine) Awaited(id string) Awaiting {
	op := m.open[id]
	if op == nil {
		return Unawaited
	}
	who := op.future.awaited()
	if op.hook != nil {
		for _, r := range op.hook.receivers.items[op.hook.receivers.from:] {
			if r != nil && !r.gone() && r.until == nil { // else its wait stands for it
				who = min(who, r.future.awaited())
			}
		}
	}
	if r := op.receiver; r != nil && !r.gone() {
		who = min(who, r.future.awaited())
	}
	if op.Key.Kind == world.KindCondition {
		who = min(who, m.condition(func(w *cond) bool { return w.future == op.future }))
	}
	return who
}

// AwaitedCondition says who waits for a condition that has no deadline, if anybody does.
func (m *Machine) AwaitedCondition() Awaiting {
	return m.condition(func(w *cond) bool { return w.future == nil })
}

func (m *Machine) condition(is func(*cond) bool) Awaiting {
	who := Unawaited
	for _, w := range m.conds.items[m.conds.from:] {
		if w != nil && !w.over && is(w) {
			who = min(who, w.w.c.awaits())
		}
	}
	return who
}

func (f *Future) awaited() Awaiting {
	who := Unawaited
	for i := range f.waiters {
		w := &f.waiters[i]
		if w.void() {
			continue
		}
		if w.group != nil {
			w = &w.group.w
		}
		who = min(who, w.c.awaits())
	}
	return who
}

func (c *coro) awaits() Awaiting {
	if c.path == "" {
		return AwaitedByMain
	}
	return AwaitedBeside
}
