package engine

import (
	"container/heap"
	"time"
)

// timer is a due time of a wait or of a step's next attempt.
type timer struct {
	at    time.Time
	id    string
	retry bool
	order int64 // of those that are due at one time: what was created first comes first
}

// timers is a session's heap of due times. Entries whose wait or step is over meanwhile are skipped by whoever asks.
type timers struct{ h timerHeap }

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

// next is when the first one is due.
func (t *timers) next() (time.Time, bool) {
	if len(t.h) == 0 {
		return time.Time{}, false
	}
	return t.h[0].at, true
}

// prune drops the first ones as long as they are void.
func (t *timers) prune(void func(timer) bool) {
	for len(t.h) > 0 && void(t.h[0]) {
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
