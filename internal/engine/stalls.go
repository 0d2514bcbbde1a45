package engine

import (
	"sync"
	"time"
)

// stalls are the runs whose code was reported as it does not give control back, and since when.
type stalls struct {
	mu    sync.Mutex
	since map[string]time.Time // by run; guarded by mu
}

// set notes all that there are now.
func (l *stalls) set(since map[string]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = since
}

func (l *stalls) of(run string) (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, ok = l.since[run]
	return since, ok
}
