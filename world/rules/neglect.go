package rules

// Steps of open tasks that nobody can do: since when.

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Neglect records since when no live worker has each step. The zero value is empty. It is safe for
// concurrent use.
type Neglect struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// Look records the steps of open tasks that no live worker has now. It returns those for which this
// has been so for after, in order, and when to look again for the others; 0: there are none.
func (n *Neglect) Look(steps []string, now time.Time, after time.Duration) (due []string, next time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.since, func(step string, _ time.Time) bool { return !slices.Contains(steps, step) })
	for _, step := range steps {
		since, known := n.since[step]
		if !known || since.After(now) {
			if n.since == nil {
				n.since = make(map[string]time.Time)
			}
			since = now
			n.since[step] = now
		}
		wait := since.Add(after).Sub(now)
		switch {
		case wait <= 0:
			due = append(due, step)
		case next == 0 || wait < next:
			next = wait
		}
	}
	return due, next
}
