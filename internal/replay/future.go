package replay

import (
	"strconv"

	"github.com/stepwell/stepwell/world"
)

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
	then     []func() // called when it is resolved, before anybody who waits goes on; must not block
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
	for _, fn := range f.then {
		fn()
	}
	f.then = nil
}

// onDone calls fn when the future is resolved, at once if it is.
func (f *Future) onDone(fn func()) {
	if f.done {
		fn()
		return
	}
	f.then = append(f.then, fn)
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

// WaitAll blocks the running coroutine until all futures are resolved, or one is with an error. It returns the index of the first that failed,
// in the order in which they were resolved, or -1.
func (x *Ctx) WaitAll(fs ...*Future) int {
	all := x.m.future(nil)
	failed, left := -1, len(fs)
	for i, f := range fs {
		f.onDone(func() {
			left--
			if f.err != nil && (failed < 0 || f.order < fs[failed].order) && !all.done {
				failed = i
			}
			if failed >= 0 || left == 0 {
				all.resolve(nil, nil)
			}
		})
	}
	if left > 0 && failed < 0 {
		x.Wait(all)
	}
	return failed
}

// Items runs fn for the items 0 to n-1 as coroutines of a scope of their own, at most limit at once (0: all), and blocks until all have
// ended. At the first that fails no further one begins, the scope is cancelled, and Items returns its index and error without waiting for
// the rest.
func (x *Ctx) Items(n, limit int, fn func(x *Ctx, i int) error) (int, error) {
	c, err := x.m.enter()
	if err != nil {
		return -1, err
	}
	if limit == 0 {
		limit = n
	}
	inner := x.Scope()
	path := c.child("map")
	failed, next, running := -1, 0, 0
	var cause error
	news := x.m.future(nil)
	for next < n || running > 0 {
		for next < n && running < limit {
			i := next
			next++
			running++
			x.m.spawn(itemPath(path, i), func() {
				err := fn(inner, i)
				running--
				if err != nil && failed < 0 {
					failed, cause = i, err
				}
				news.resolve(nil, nil)
			})
		}
		x.Wait(news)
		news = x.m.future(nil)
		if failed >= 0 {
			inner.Cancel()
			return failed, cause
		}
	}
	return -1, nil
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
