package rules

// Fairness: which of what could be claimed is claimed next.

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Priorities is the number of priorities: 0 to 3.
const Priorities = 4

// aging is how long a run or task waits to count one priority higher.
const aging = time.Minute

func level(priority int, due, now time.Time) int64 {
	return int64(priority) + int64(now.Sub(due)/aging)
}

// Candidate is a run or a task that could be claimed.
type Candidate struct {
	Key      int64 // of the run or task; grows with creation
	Workflow string
	Priority int
	Due      time.Time
}

// Fairness records when each workflow had its last turn. The zero value is ready to use. Each
// process has its own.
type Fairness struct {
	last   int64
	served map[string]int64
}

// Before reports whether a is claimed before b: the higher level (priority plus one for each minute
// of waiting), then the workflow with the oldest last turn, then the longest due, then the oldest.
func (t *Fairness) Before(a, b *Candidate, now time.Time) bool {
	if la, lb := level(a.Priority, a.Due, now), level(b.Priority, b.Due, now); la != lb {
		return la > lb
	}
	if sa, sb := t.served[a.Workflow], t.served[b.Workflow]; sa != sb {
		return sa < sb
	}
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key)) < 0
}

// Serve records a turn of a workflow.
func (t *Fairness) Serve(workflow string) {
	if t.served == nil {
		t.served = make(map[string]int64)
	}
	t.last++
	t.served[workflow] = t.last
}

// Pick chooses at most n candidates to claim, records their turns, and returns their indexes in the
// order of claims. A candidate that is listed twice, because it is due and is to be cancelled, is
// chosen once. Of each class and priority, the first n by due time are enough.
func (t *Fairness) Pick(all []Candidate, now time.Time, n int) (chosen []int) {
	left := make([]int, 0, len(all))
	for i := range all {
		if !all[i].Due.After(now) {
			left = append(left, i)
		}
	}
	for len(chosen) < n && len(left) > 0 {
		best := left[0]
		for _, i := range left[1:] {
			if t.Before(&all[i], &all[best], now) {
				best = i
			}
		}
		left = slices.DeleteFunc(left, func(i int) bool { return all[i].Key == all[best].Key })
		t.Serve(all[best].Workflow)
		chosen = append(chosen, best)
	}
	return chosen
}

// SortReady sorts items roughly in the order of claims, then by name.
func SortReady(items []world.ReadyItem, now time.Time) {
	slices.SortStableFunc(items, func(a, b world.ReadyItem) int {
		return cmp.Or(cmp.Compare(level(b.Priority, b.Due, now), level(a.Priority, a.Due, now)), a.Due.Compare(b.Due),
			cmp.Compare(a.Run, b.Run), cmp.Compare(a.Step, b.Step))
	})
}

// ListReady fills a list with what could be claimed, roughly in the order of claims, without taking
// turns between workflows. Duplicates are removed, and limit cuts the list.
func ListReady(r *world.Ready, items []world.ReadyItem, limit int) {
	SortReady(items, r.Now)
	type key struct{ run, step string }
	seen := make(map[key]bool, len(items))
	for i := range items {
		k := key{items[i].Run, items[i].Step}
		if seen[k] {
			continue
		}
		if len(r.Items) == limit {
			r.More = true
			return
		}
		seen[k] = true
		r.Items = append(r.Items, items[i])
	}
}
