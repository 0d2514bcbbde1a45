package postgres

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stepwell/stepwell/world"
)

// listeners are called after each group.
type listeners struct {
	mu  sync.Mutex
	set atomic.Pointer[[]*func(world.Notice)] // replaced as a whole, under mu
}

// Notify calls fn after changes; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	mine := &fn
	w.listeners.change(func(all []*func(world.Notice)) []*func(world.Notice) { return append(all, mine) })
	w.queue.session.nudge()
	return func() {
		w.listeners.change(func(all []*func(world.Notice)) []*func(world.Notice) {
			return slices.DeleteFunc(all, func(f *func(world.Notice)) bool { return f == mine })
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
	changed := f(old)
	l.set.Store(&changed)
}

func (l *listeners) any() bool {
	p := l.set.Load()
	return p != nil && len(*p) > 0
}

// tell gives notices to all listeners, on the goroutine that calls it.
func (l *listeners) tell(notices []world.Notice) {
	p := l.set.Load()
	if p == nil {
		return
	}
	for _, n := range notices {
		for _, fn := range *p {
			(*fn)(n)
		}
	}
}
