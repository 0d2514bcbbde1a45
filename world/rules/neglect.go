package rules

// Steps of open tasks that nobody can do: since when.

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Neglect knows since when no live worker has a step. The zero value knows of none. It may be used by several at once.
type Neglect struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// Look notes which steps of open tasks no live worker has now. It tells of which that has been so for a time, in
// their order, and when to look again for the others; 0: there are none.
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
