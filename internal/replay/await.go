package replay

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// cond is a coroutine that waits until a condition of the workflow's own state holds.
type cond struct {
	member    member
	w         waiter
	future    *Future // of its timeout; nil: none
	cancelled bool
	over      bool // the coroutine went on
}

func (w *cond) gone() bool { return w.over }

func (w *cond) cancel(*Machine) { w.cancelled = true } // it is polled at the end of the turn

// Await blocks the running coroutine until pred holds, and returns true, or until the timeout, if there is one (timeout > 0), has passed, and returns
// false. A condition that already holds writes nothing; where both come true in one turn the condition wins.
func (x *Ctx) Await(name string, pred func() bool, timeout time.Duration) (bool, error) {
	m := x.m
	c, err := m.operate()
	if err != nil {
		return false, err
	}
	if err := world.CheckName("condition name", name); err != nil {
		return false, err
	}
	if pred() {
		return true, nil
	}
	if x.scope.isCancelled() {
		return false, ErrCancelled
	}
	w := &cond{}
	if timeout > 0 {
		if w.future = x.wait(world.KindCondition, name, func(op *Op) { op.After, op.Timed = timeout, true }); w.future.op == nil {
			return false, w.future.err
		}
	}
	m.join(x.scope, &w.member, w)
	m.conds.add(w)
	defer m.dropCond(w)
	for {
		w.w = waiter{c: c, gen: c.gen}
		c.block()
		switch {
		case pred():
			x.conditionHeld(w)
			return true, nil
		case w.cancelled:
			return false, ErrCancelled
		case w.future != nil && w.future.done:
			return false, nil
		}
	}
}

// conditionHeld records that the wait behind a condition is over, if there is one and it is still open.
func (x *Ctx) conditionHeld(w *cond) {
	if w.future == nil || w.future.done {
		return
	}
	op := w.future.op
	w.future.resolve(nil, nil)
	x.m.ask(&Op{Type: world.WaitCompleted, ID: op.ID, Key: op.Key, scope: x.scope, future: w.future})
}

// pollConds lets each coroutine that waits for a condition look at it, in turn, until one goes on. It reports whether one did. A poll is a switch
// to the coroutine, as the condition is the author's code: about 200 ns each, at the end of every turn.
func (m *Machine) pollConds() bool {
	for i := m.conds.from; i < len(m.conds.items); i++ {
		w := m.conds.items[i]
		c := w.w.c
		if w.over || c.ended || w.w.gen != c.gen {
			continue
		}
		c.resume()
		if c.ended {
			m.bury()
		}
		if m.failure != nil || m.outcome != nil || w.over {
			return true
		}
	}
	return false
}

func (m *Machine) dropCond(w *cond) {
	w.over = true
	w.member.leave()
	m.conds.dropped()
}
