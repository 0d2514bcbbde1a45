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
// With a reminder it reminds meanwhile.
func (x *Ctx) Await(name string, pred func() bool, timeout time.Duration, r *Reminder) (bool, error) {
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
	timer := r.timer(x)
	for {
		w.w = waiter{c: c, gen: c.gen}
		c.block()
		if timer != nil && timer.done && timer.err == nil && !pred() && !w.ended() {
			if err := r.Do(); err != nil {
				x.met(w.future)
				return false, err
			}
			timer = r.timer(x)
		}
		switch {
		case pred():
			x.met(w.future)
			x.met(timer)
			return true, nil
		case w.ended():
			x.met(timer)
			if w.cancelled {
				return false, ErrCancelled
			}
			return false, nil
		}
	}
}

// ended reports whether the wait is cancelled, or its time is up.
func (w *cond) ended() bool { return w.cancelled || w.future != nil && w.future.done }

// met ends a wait whose time nobody needs any longer, where there is one and it is open: or it would wake the run for nothing.
func (x *Ctx) met(f *Future) {
	if f == nil || f.done {
		return
	}
	if _, err := x.m.operate(); err != nil {
		return
	}
	op := f.op
	f.resolve(nil, nil)
	x.m.ask(&Op{Type: world.WaitCompleted, ID: op.ID, Key: op.Key, scope: x.scope, future: f})
}

// Reminder is what code does each so often while it waits.
type Reminder struct {
	Name  string // of its timers
	Every time.Duration
	Until time.Time // the wait's deadline; zero: it has none
	Do    func() error
}

// timer is that of the next time; nil: there is none, because the wait is over by then.
func (r *Reminder) timer(x *Ctx) *Future {
	if r == nil || !r.Until.IsZero() && !x.m.now.Add(r.Every).Before(r.Until) {
		return nil
	}
	return x.Sleep(r.Name, r.Every)
}

// WaitReminding is [Ctx.Wait] that reminds meanwhile. An error of the reminder ends what the future is of.
func (x *Ctx) WaitReminding(f *Future, r *Reminder) error {
	for !f.done {
		timer := r.timer(x)
		if timer == nil {
			break
		}
		i := x.WaitAny(f, timer)
		switch {
		case i < 0:
			return x.Refusal()
		case i == 0:
			x.met(timer)
		case timer.err != nil:
			return timer.err
		default:
			if err := r.Do(); err != nil {
				x.CancelFuture(f)
				return err
			}
		}
	}
	return nil
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
