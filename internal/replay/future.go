package replay

import "github.com/stepwell/stepwell/world"

// Future is something that a coroutine can wait for: the end of a step, a wait, a payload, the end of another coroutine.
type Future struct {
	m        *Machine
	done     bool
	order    uint64 // when it was resolved, among all futures of the machine
	payload  []byte
	err      error
	value    any  // of a coroutine
	received bool // of an event wait: a signal ended it
	waiters  []waiter
	op       *Op
}

type waiter struct {
	c   *coro
	gen uint64
}

// Done reports whether the future is resolved.
func (f *Future) Done() bool { return f.done }

// Payload is what was recorded as the result: JSON, or nil. The caller must not change it.
func (f *Future) Payload() []byte { return f.payload }

// Err is the recorded failure (a *world.Error), [ErrCancelled], or nil.
func (f *Future) Err() error { return f.err }

// Value is what a coroutine's function set by its return.
func (f *Future) Value() any { return f.value }

// Key names the operation behind the future; zero for a coroutine.
func (f *Future) Key() (world.Key, bool) {
	if f.op == nil {
		return world.Key{}, false
	}
	return f.op.Key, true
}

// Op is the operation behind the future, or nil.
func (f *Future) Op() *Op { return f.op }

func (m *Machine) future(op *Op) *Future { return &Future{m: m, op: op} }

// resolved makes a future that is done from the start.
func (m *Machine) resolved(err error) *Future {
	f := m.future(nil)
	f.resolve(nil, err)
	return f
}

// resolve ends the future and readies whoever waits for it. Only the first time counts.
func (f *Future) resolve(payload []byte, err error) {
	if f.done {
		return
	}
	f.m.order++
	f.done, f.order, f.payload, f.err = true, f.m.order, payload, err
	for _, w := range f.waiters {
		f.m.wake(w)
	}
	f.waiters = nil
}

// wake readies a coroutine, if it still waits as it did when w was made.
func (m *Machine) wake(w waiter) {
	if w.c.gen == w.gen {
		w.c.gen++
		m.ready.push(w.c)
	}
}

// Wait blocks the running coroutine until the future is resolved.
func (x *Ctx) Wait(f *Future) { x.WaitAny(f) }

// WaitAny blocks the running coroutine until one of the futures is resolved and returns the index of the one that was resolved first. With
// none it blocks for ever.
func (x *Ctx) WaitAny(fs ...*Future) int {
	c, err := x.m.enter()
	if err != nil {
		return -1
	}
	for {
		first := -1
		for i, f := range fs {
			if f.done && (first < 0 || f.order < fs[first].order) {
				first = i
			}
		}
		if first >= 0 {
			return first
		}
		for _, f := range fs {
			f.waiters = append(f.waiters, waiter{c, c.gen})
		}
		c.block()
	}
}
