package server

// This file remembers which runs workers were told that they have lost: a world says it once, and the answer may have been lost on its way.

import (
	"slices"
	"sync"
)

// losses are the runs that each worker's last heartbeat told of, where it told of any.
type losses struct {
	mu   sync.Mutex
	last map[string][]string
}

// mostLosses is of how many workers they are kept; who is forgotten learns of a lost run at its next commit.
const mostLosses = 10_000

// tell adds to what a heartbeat tells what the one before did, where that did not arrive.
func (l *losses) tell(worker string, lost []string, again bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if again {
		for _, run := range l.last[worker] {
			if !slices.Contains(lost, run) {
				lost = append(lost, run)
			}
		}
	}
	switch {
	case len(lost) == 0:
		delete(l.last, worker)
	case l.last == nil:
		l.last = map[string][]string{worker: lost}
	case len(l.last) < mostLosses || l.last[worker] != nil:
		l.last[worker] = lost
	}
	return lost
}

// forget forgets a worker that leaves.
func (l *losses) forget(worker string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, worker)
}
