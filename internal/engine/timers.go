package engine

import (
	"container/heap"
	"time"

	"github.com/stepwell/stepwell/world"
)

// timer is a due time of a wait or of a step's next attempt.
type timer struct {
	at    time.Time
	id    string
	retry bool
	order int64 // of those that are due at one time: what was created first comes first
}

// timers are a session's due times. Entries whose wait or step is over meanwhile are skipped by whoever asks.
//
// A timer is in the heap, or, of a wait that only looks, among polls from when it is due until the inbox was looked into: see poll.go.
type timers struct {
	h     timerHeap
	polls []timer
}

// add is given the number of the event that created the wait or step.
func (t *timers) add(at time.Time, id string, retry bool, created int64) {
	heap.Push(&t.h, timer{at, id, retry, created})
}

// due removes and returns the first timer that is due.
func (t *timers) due(now time.Time) (timer, bool) {
	if len(t.h) == 0 || t.h[0].at.After(now) {
		return timer{}, false
	}
	return heap.Pop(&t.h).(timer), true
}

// first is the one that is due first.
func (t *timers) first() (timer, bool) {
	if len(t.h) == 0 {
		return timer{}, false
	}
	return t.h[0], true
}

// next is when the first one is due.
func (t *timers) next() (time.Time, bool) {
	first, ok := t.first()
	return first.at, ok
}

// poll keeps a timer that was due until the inbox was looked into.
func (t *timers) poll(due timer) { t.polls = append(t.polls, due) }

// polling reports whether some are kept.
func (t *timers) polling() bool { return len(t.polls) > 0 }

// polled returns those that are kept: the inbox was looked into. They are the caller's until the next is due.
func (t *timers) polled() []timer {
	polls := t.polls
	t.polls = polls[:0]
	return polls
}

// lookAt puts off those that are kept.
func (t *timers) lookAt(at time.Time) {
	for _, p := range t.polled() {
		t.add(at, p.id, false, p.order)
	}
}

// prune drops the first ones as long as they are void.
func (t *timers) prune(state *world.State) {
	for len(t.h) > 0 && void(state, t.h[0]) {
		heap.Pop(&t.h)
	}
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	n := len(old) - 1
	x := old[n]
	*h = old[:n]
	return x
}
