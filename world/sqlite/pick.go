package sqlite

import (
	"cmp"
	"slices"
	"time"
)

// mostCancels is among how many runs of a priority that are to be cancelled, at least, those are chosen that are given. All that wait are looked at in
// their turn.
const mostCancels = 100

// candidate is a run or task that could be given.
type candidate struct {
	key      int64
	due      time.Time
	workflow string
	level    int64 // its priority, and one for each minute that it has waited
	err      error
}

// pick chooses what is given, at most n: higher levels first, then the workflow that had its turn the longest time ago, then what is due
// longest, then what was born first. Within a lane that is the order of due times, so n of each lane are enough to look at.
func (g *group) pick(heads []head, n int, tasks bool, classes string) (chosen []candidate) {
	if n <= 0 {
		return nil
	}
	var all []candidate
	for _, h := range heads {
		if h.due.After(g.now) || (h.kind == 1) != tasks {
			continue
		}
		if err := g.candidates(h, n, &all, classes); err != nil {
			return []candidate{{err: err}}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.key, b.key)) })
	w := g.wr.w
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[int64]bool)
	for len(chosen) < n && len(all) > 0 {
		best := 0
		for i := range all {
			if a, b := &all[i], &all[best]; a.level > b.level || a.level == b.level && w.served[a.workflow] < w.served[b.workflow] {
				best = i
			}
		}
		c := all[best]
		all = slices.Delete(all, best, best+1)
		if seen[c.key] { // to be cancelled, and due as well
			continue
		}
		seen[c.key] = true
		w.turn++
		w.served[c.workflow] = w.turn
		chosen = append(chosen, c)
	}
	return chosen
}

func (g *group) candidates(h head, n int, all *[]candidate, classes string) error {
	add := func(r row) (bool, error) {
		c := candidate{key: r.int(0), due: r.time(1), level: r.int(3) + int64(g.now.Sub(r.time(1))/aging)}
		if h.kind == 1 {
			c.workflow = r.text(2)
		} else {
			class, err := g.className(r.int(2))
			if err != nil {
				return false, err
			}
			c.workflow = class.Workflow
		}
		*all = append(*all, c)
		return true, nil
	}
	// The names of classes are read before: one statement of a connection runs at a time.
	if err := g.loadClasses(); err != nil {
		return err
	}
	switch now := g.now.UnixMicro(); h.kind {
	case 0:
		return g.c.query(readyRuns, add, h.class, h.priority, now, int64(n))
	case 1:
		return g.c.query(readyTasks, add, h.name, h.priority, h.workflow, now, int64(n))
	default:
		for p := range int64(priorities) {
			if err := g.c.query(cancelRuns, add, int64(max(n, mostCancels)), classes, p); err != nil {
				return err
			}
		}
		return nil
	}
}
