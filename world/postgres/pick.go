package postgres

// Which of what could be taken is: higher levels first, then the workflow that had its turn the longest time ago, then what is due longest,
// then what was born first. A level is the priority, and one more for each minute of waiting.

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// aging is how long a run or task waits to count one priority higher.
const aging = time.Minute

// kind is what a row of ready.sql is about.
type kind int16

const (
	readyRun kind = iota
	readyTask
	mailedRun // mail makes it runnable
	peer      // a worker
	clockRow
)

// queueLane is a part of the queue that is served in the order of due times: of runs by class and priority, of tasks by step, workflow and priority.
type queueLane struct {
	class          int32
	step, workflow string
	priority       int16
}

// candidate is a run or task that could be given, or will be.
type candidate struct {
	kind     kind
	key      int64
	lane     queueLane // of a run: without a workflow
	workflow string
	due      time.Time
	task     taskSeen // where it is one
}

// turns says when each workflow had its turn last.
type turns struct {
	mu     sync.Mutex
	last   int64
	served map[string]int64
}

// pick chooses what is given, at most n. What is in skip is left out; the same run twice is given once.
func (t *turns) pick(all []candidate, now time.Time, n int, skip map[int64]bool) (chosen []candidate) {
	if n <= 0 {
		return nil
	}
	left := make([]candidate, 0, len(all))
	for _, c := range all {
		if !c.due.After(now) && !skip[c.key] {
			left = append(left, c)
		}
	}
	slices.SortStableFunc(left, func(a, b candidate) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.key, b.key)) })
	level := func(c *candidate) int64 { return int64(c.lane.priority) + int64(now.Sub(c.due)/aging) }
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.served == nil {
		t.served = make(map[string]int64)
	}
	seen := make(map[int64]bool)
	for len(chosen) < n && len(left) > 0 {
		best := 0
		for i := 1; i < len(left); i++ {
			a, b := &left[i], &left[best]
			if la, lb := level(a), level(b); la > lb || la == lb && t.served[a.workflow] < t.served[b.workflow] {
				best = i
			}
		}
		c := left[best]
		left = slices.Delete(left, best, best+1)
		if seen[c.key] { // to be cancelled, and due as well
			continue
		}
		seen[c.key] = true
		t.last++
		t.served[c.workflow] = t.last
		chosen = append(chosen, c)
	}
	return chosen
}

// laneArgs are the lanes of runs that a worker asks for, as columns.
func laneArgs(classes []int32, low func(queueLane) time.Time) (class []int32, priority []int16, from []time.Time) {
	n := len(classes) * priorities
	class, priority, from = make([]int32, 0, n), make([]int16, 0, n), make([]time.Time, 0, n)
	for _, c := range classes {
		for p := range int16(priorities) {
			class, priority, from = append(class, c), append(priority, p), append(from, low(queueLane{class: c, priority: p}))
		}
	}
	return class, priority, from
}

// priorities are 0 to 3.
const priorities = 4

// classKeys are the keys of classes.
func (w *World) classKeys(ctx context.Context, classes []world.Class) ([]int32, error) {
	keys := make([]int32, len(classes))
	for i, c := range classes {
		key, err := w.classKey(ctx, c)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}
