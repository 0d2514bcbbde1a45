// What could be claimed, without claiming it.

package memory

import (
	"context"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Ready lists what could be claimed; see [world.Admin].
func (w *World) Ready(ctx context.Context, q world.ReadyQuery) (world.Ready, error) {
	if err := w.enter(ctx); err != nil {
		return world.Ready{}, err
	}
	var n notices
	out := world.Ready{Now: w.now()}
	w.expire(out.Now, &n)
	w.limits.wake(&n)
	w.limits.shut()
	partitions := w.partitionsFor(q.Classes, len(q.Classes) > 0)
	for _, name := range q.Steps {
		partitions = append(partitions, w.taskPartitions[name]...)
	}
	var items []world.ReadyItem
	for _, l := range partitions {
		due, next := l.first(q.Most()+1, out.Now.UnixMicro())
		for _, e := range due {
			items = append(items, e.item())
		}
		if next != nil {
			out.Sooner(time.UnixMicro(next.due).UTC())
		}
	}
	if at := w.limits.next(); !at.IsZero() {
		out.Sooner(at)
	}
	rules.ListReady(&out, items, q.Most())
	for _, wk := range w.workers {
		if len(wk.runs)+len(wk.tasks) > 0 {
			out.Sooner(wk.until)
		}
	}
	w.mu.Unlock()
	w.tell(&n)
	return out, nil
}

func (e *entry) item() world.ReadyItem {
	due := time.UnixMicro(e.due).UTC()
	if t := e.task; t != nil {
		return world.ReadyItem{Run: t.Run, Step: t.Step, StepName: t.Name, Priority: t.Priority, Due: due}
	}
	return world.ReadyItem{Run: e.run.id, Class: e.run.class(), Priority: e.run.birth.Priority, Due: due}
}

// first is what is due first in the partition, at most n, in order, and what is due next, if it got so far. It looks at no more of the heap than that.
func (l *partition) first(n int, now int64) (due []*entry, next *entry) {
	border := []int{0} // positions whose parents were seen, those due first at the end
	for len(border) > 0 && len(due) < n {
		at := border[len(border)-1]
		border = border[:len(border)-1]
		if at >= len(l.items) {
			continue
		}
		e := l.items[at]
		if e.due > now {
			return due, e
		}
		due = append(due, e)
		for _, child := range []int{2*at + 1, 2*at + 2} {
			if child < len(l.items) {
				i, _ := slices.BinarySearchFunc(border, child, func(a, b int) int {
					if l.Less(b, a) {
						return -1
					}
					return 1
				})
				border = slices.Insert(border, i, child)
			}
		}
	}
	return due, nil
}
