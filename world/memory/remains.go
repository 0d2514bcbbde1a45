// What runs that are over must not leave behind.

package memory

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Remains lists remnants of ended runs: deliveries, tasks, hooks, queue entries, owners, waiting
// steps. It is empty unless this package has a fault. Tests call it when all runs have ended.
func (w *World) Remains() (left []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, r := range w.runs {
		if r.end == nil {
			continue
		}
		for what, n := range map[string]int{
			"letters": len(r.inbox), "delivery IDs": len(r.ids), "tasks": len(r.tasks), "hooks": len(r.hooks), "awaiting steps": len(r.awaiters),
		} {
			if n > 0 {
				left = append(left, fmt.Sprintf("run %s is over and has %d %s", id, n, what))
			}
		}
		if r.owner != nil || r.entry.partition != nil && r.entry.partition != &w.ended {
			left = append(left, fmt.Sprintf("run %s is over and in the queue, or owned", id))
		}
	}
	for token, h := range w.tokens {
		if h.run.end != nil || h.run.hooks[h.id] != h {
			left = append(left, fmt.Sprintf("token %q is held by hook %s of run %s, which does not have it", world.ShownToken(token), h.id, h.run.id))
		}
	}
	for _, wk := range w.workers {
		for r := range wk.runs {
			if r.owner != wk {
				left = append(left, fmt.Sprintf("worker %s has run %s, which it does not own", wk.ID, r.id))
			}
		}
		for t := range wk.tasks {
			if t.holder != wk || t.run.tasks[t.Step] != t {
				left = append(left, fmt.Sprintf("worker %s has task %s of run %s, which it does not hold", wk.ID, t.Step, t.run.id))
			}
		}
	}
	return left
}
