// Notices: who listens, and what is told once the world is unlocked.

package memory

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stepwell/stepwell/world"
)

// listeners is the set of functions that hear notices; it is copied on each change, so that telling takes no lock.
type listeners struct {
	mu  sync.Mutex
	set atomic.Pointer[[]*func(world.Notice)]
}

// Notify calls fn after each change that others may wait for, until stop is called. fn is called on the goroutine that made
// the change, after the world was unlocked.
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	w.listeners.change(func(fns []*func(world.Notice)) []*func(world.Notice) { return append(fns, &fn) })
	return func() {
		w.listeners.change(func(fns []*func(world.Notice)) []*func(world.Notice) {
			return slices.DeleteFunc(fns, func(f *func(world.Notice)) bool { return f == &fn })
		})
	}
}

func (l *listeners) change(f func([]*func(world.Notice)) []*func(world.Notice)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var old []*func(world.Notice)
	if p := l.set.Load(); p != nil {
		old = slices.Clone(*p)
	}
	set := f(old)
	l.set.Store(&set)
}

// notices are collected under the lock and told after it.
type notices struct {
	list []world.Notice
}

func (n *notices) add(kind world.NoticeKind, run string) {
	n.list = append(n.list, world.Notice{Kind: kind, Run: run})
}

// tell calls the listeners. The world is not locked.
func (w *World) tell(n *notices) {
	p := w.listeners.set.Load()
	if p == nil || len(*p) == 0 {
		return
	}
	for _, notice := range n.list {
		for _, fn := range *p {
			(*fn)(notice)
		}
	}
}
