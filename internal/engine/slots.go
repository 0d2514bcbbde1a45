package engine

import (
	"sync"
	"sync/atomic"
)

// slots counts what may run at once. Who finds none queues up and is called, in order, when one is free.
type slots struct {
	mu      sync.Mutex
	free    int         // guarded by mu
	first   []func()    // who had a slot before and yielded it: served before the waiters; guarded by mu
	waiters []func()    // guarded by mu
	starved atomic.Bool // somebody looked for a slot and will not wait: onFree tells it of the next
	onFree  func()
}

func newSlots(n int, onFree func()) *slots { return &slots{free: n, onFree: onFree} }

// queuedLocked is how many wait.
func (s *slots) queuedLocked() int { return len(s.first) + len(s.waiters) }

// try takes up to n slots, unless others wait, and returns how many.
func (s *slots) try(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queuedLocked() > 0 {
		return 0
	}
	n = min(n, s.free)
	s.free -= n
	return n
}

// reserve takes slots for what a Claim may bring: half of the free ones at a time, as eager starts need some meanwhile. Where there is none, onFree
// tells of the next: that is noted under the lock, so that no slot becomes free unseen in between.
func (s *slots) reserve() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if s.queuedLocked() == 0 {
		n = (s.free + 1) / 2
	}
	if n == 0 {
		s.starved.Store(true)
	}
	s.free -= n
	return n
}

// wait calls granted when the caller has a slot, perhaps at once. granted must not block.
func (s *slots) wait(granted func()) { s.enqueue(&s.waiters, granted) }

// again is wait for who has yielded a slot, and is in the middle of something: it goes before those who have not begun.
func (s *slots) again(granted func()) { s.enqueue(&s.first, granted) }

func (s *slots) enqueue(line *[]func(), granted func()) {
	s.mu.Lock()
	if s.free > 0 && s.queuedLocked() == 0 {
		s.free--
		s.mu.Unlock()
		granted()
		return
	}
	*line = append(*line, granted)
	s.mu.Unlock()
}

// release gives n slots back: to those who wait, in order.
func (s *slots) release(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	var granted []func()
	for ; n > 0 && s.queuedLocked() > 0; n-- {
		line := &s.first
		if len(*line) == 0 {
			line = &s.waiters
		}
		granted = append(granted, (*line)[0])
		*line = (*line)[1:]
	}
	s.free += n
	s.mu.Unlock()
	for _, fn := range granted {
		fn()
	}
	if n > 0 && s.starved.Load() && s.starved.CompareAndSwap(true, false) {
		s.onFree()
	}
}

// available is how many could be taken now.
func (s *slots) available() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queuedLocked() > 0 {
		return 0
	}
	return s.free
}

// contended reports whether somebody waits.
func (s *slots) contended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queuedLocked() > 0
}
