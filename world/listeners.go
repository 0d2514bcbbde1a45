package world

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Listeners are who hears a world's notices: the half of a [Notifier] that is the same in every world. The set is copied on each change, so that
// telling takes no lock. The zero value has none. It is safe for concurrent use.
type Listeners struct {
	mu  sync.Mutex
	set atomic.Pointer[[]*func(Notice)] // replaced as a whole, under mu
}

// Add makes fn hear each notice until stop is called. Stopping twice is legal.
func (l *Listeners) Add(fn func(Notice)) (stop func()) {
	mine := &fn
	l.change(func(all []*func(Notice)) []*func(Notice) { return append(all, mine) })
	return func() {
		l.change(func(all []*func(Notice)) []*func(Notice) {
			return slices.DeleteFunc(all, func(f *func(Notice)) bool { return f == mine })
		})
	}
}

func (l *Listeners) change(f func([]*func(Notice)) []*func(Notice)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := f(slices.Clone(l.all()))
	l.set.Store(&changed)
}

func (l *Listeners) all() []*func(Notice) {
	if p := l.set.Load(); p != nil {
		return *p
	}
	return nil
}

// Any reports whether anybody listens.
func (l *Listeners) Any() bool { return len(l.all()) > 0 }

// Tell gives notices to all who listen, on the goroutine that calls it. The world must hold no lock that a listener could need.
func (l *Listeners) Tell(notices []Notice) {
	all := l.all()
	for _, n := range notices {
		for _, fn := range all {
			(*fn)(n)
		}
	}
}
