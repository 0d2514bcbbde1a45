package world

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Listeners is a set of listeners to notices: the part of a [Notifier] that is the same in every
// store. It is copied on each change, so Tell takes no lock. The zero value is empty. It is safe
// for concurrent use.
type Listeners struct {
	mu  sync.Mutex
	set atomic.Pointer[[]*func(Notice)] // replaced as a whole, under mu
}

// Add calls fn for each notice until stop is called. Calling stop twice is harmless.
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

// Any reports whether there are listeners.
func (l *Listeners) Any() bool { return len(l.all()) > 0 }

// Tell calls all listeners with each notice, on the caller's goroutine. Hold no lock that a
// listener could need.
func (l *Listeners) Tell(notices []Notice) {
	all := l.all()
	for _, n := range notices {
		for _, fn := range all {
			(*fn)(n)
		}
	}
}
