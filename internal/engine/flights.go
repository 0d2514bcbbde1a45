package engine

import "sync"

// flights are the claims that are under way: what they gave is not known yet, or not noted. They are numbered from 1,
// in the order in which they began.
type flights struct {
	mu     sync.Mutex
	claims uint64          // that have begun; guarded by mu
	open   map[uint64]bool // guarded by mu
}

// begin notes that a claim begins. noted is to be called when what it gave is noted.
func (f *flights) begin() (noted func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[uint64]bool{}
	}
	f.claims++
	n := f.claims
	f.open[n] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, n)
	}
}

// state is the number of the last claim that has begun, and the number up to which all are over.
func (f *flights) state() (begun, over uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	over = f.claims
	for n := range f.open {
		over = min(over, n-1)
	}
	return f.claims, over
}
