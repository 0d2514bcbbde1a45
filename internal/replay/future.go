package replay

import (
	"slices"
	"strconv"

	"github.com/stepwell/stepwell/world"
)

// Future is something that a coroutine can wait for: the end of a step, a wait, a payload, the end of another coroutine.
type Future struct {
	m        *Machine
	done     bool
	received bool   // of an event wait: a signal ended it
	taken    bool   // of an event wait: it has a payload that the code has not looked at
	order    uint64 // when it was resolved, among all futures of the machine
	payload  []byte
	apart    string // the value that payload refers to; "": it is the value
	err      error
	value    any // of a coroutine
	waiters  []waiter
	only     [1]waiter // holds the usual one
	op       *Op
	scope    *scope    // of a coroutine
	receiver *receiver // of a hook's payload
}

// waiter is who waits for a future: a coroutine, or a group on behalf of one.
type waiter struct {
	c     *coro
	gen   uint64
	group *group
}

// void reports whether the waiter waits no longer.
func (w *waiter) void() bool {
	if w.group != nil {
		return w.group.over
	}
	return w.c.ended || w.c.gen != w.gen
}

// group waits until all of some futures are resolved, or one is with an error.
type group struct {
	w    waiter
	left int
	over bool
}

// Done reports whether the future is resolved. Workflow code that asks has looked at it.
func (f *Future) Done() bool {
	if f.taken {
		if c := f.m.current.Load(); c != nil && c.goroutine.Load() == self() {
			f.look()
		}
	}
	return f.done
}

// Payload is what was recorded as the result: JSON, or nil. The caller must not change it.
func (f *Future) Payload() []byte { return f.payload }

// Apart is the value that Payload refers to, which is kept apart; "": that is the value.
func (f *Future) Apart() string { return f.apart }

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

// resolved makes a future that is done from the start. A foreign call's takes no place in the machine's order: it may not touch it.
func (m *Machine) resolved(err error) *Future {
	f := m.future(nil)
	if _, foreign := err.(*ForeignError); foreign {
		f.done, f.err = true, err
		return f
	}
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
	for i := range f.waiters {
		w := &f.waiters[i]
		if w.group != nil {
			w.group.resolved(f)
		} else {
			f.m.wake(w)
		}
	}
	f.waiters, f.only[0] = nil, waiter{}
}

func (g *group) resolved(f *Future) {
	g.left--
	if !g.over && (g.left == 0 || f.err != nil) {
		g.over = true
		f.m.wake(&g.w)
	}
}

// await notes who waits for the future. Those who wait no longer are swept out before the list grows, as one future may be waited for
// in a loop, each time beside another.
func (f *Future) await(w waiter) {
	if f.waiters == nil {
		f.waiters = f.only[:0]
	} else if len(f.waiters) == cap(f.waiters) {
		f.waiters = slices.DeleteFunc(f.waiters, func(w waiter) bool { return w.void() })
		if n := len(f.waiters); n > cap(f.waiters)/2 {
			f.waiters = slices.Grow(f.waiters, n+1)
		}
	}
	f.waiters = append(f.waiters, w)
}

// wake readies a coroutine, if it still waits as it did when w was made.
func (m *Machine) wake(w *waiter) {
	if w.c.gen == w.gen {
		w.c.gen++
		m.ready.push(w.c)
	}
}

// Wait blocks the running coroutine until the future is resolved. It is false when it was refused, and did not wait:
// see [Ctx.Refusal].
func (x *Ctx) Wait(f *Future) bool {
	c, err := x.m.enter()
	if err == nil && !f.done {
		c, err = x.m.operate()
	}
	if err != nil {
		return false
	}
	for !f.done {
		f.await(waiter{c: c, gen: c.gen})
		c.block()
	}
	f.look()
	return true
}

// WaitAny blocks the running coroutine until one of the futures is resolved and returns the index of the one that was resolved first. With
// none it blocks for ever.
func (x *Ctx) WaitAny(fs ...*Future) int {
	c, err := x.m.operate()
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
			fs[first].look()
			return first
		}
		for _, f := range fs {
			f.await(waiter{c: c, gen: c.gen})
		}
		c.block()
	}
}

// WaitAll blocks the running coroutine until all futures are resolved, or one is with an error. It returns the index of the first that failed,
// in the order in which they were resolved, or -1.
func (x *Ctx) WaitAll(fs ...*Future) int {
	c, err := x.m.operate()
	if err != nil {
		return -1
	}
	for {
		failed, left := -1, 0
		for i, f := range fs {
			switch {
			case !f.done:
				left++
			case f.err != nil && (failed < 0 || f.order < fs[failed].order):
				failed = i
			}
		}
		if failed >= 0 || left == 0 {
			return failed
		}
		g := &group{w: waiter{c: c, gen: c.gen}, left: left}
		for _, f := range fs {
			if !f.done {
				f.await(waiter{group: g})
			}
		}
		c.block()
		g.over = true
	}
}

// Items runs fn for the items 0 to n-1 as coroutines of a scope of their own, at most limit at once (0: all), and blocks until all have
// ended. At the first that fails no further one begins, the scope is cancelled, and Items returns its index and error without waiting for
// the rest.
func (x *Ctx) Items(n, limit int, fn func(x *Ctx, i int) error) (int, error) {
	c, err := x.m.operate()
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
	ended := func(i int, err error) {
		if err != nil && failed < 0 {
			failed, cause = i, err
			news.resolve(nil, nil)
			x.m.cancelScope(inner.scope)
		}
		running--
		news.resolve(nil, nil)
	}
	item := func(i int) {
		var err error
		if failed < 0 { // else it had not begun when another failed
			err = fn(inner, i)
		}
		ended(i, err)
	}
	for next < n || running > 0 {
		for next < n && running < limit {
			i := next
			next++
			running++
			x.m.spawn(itemPath(path, i), func() { item(i) }).crashed = func() { ended(i, ErrCancelled) }
		}
		x.Wait(news)
		if failed >= 0 {
			return failed, cause
		}
		news = x.m.future(nil)
	}
	return -1, nil
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
