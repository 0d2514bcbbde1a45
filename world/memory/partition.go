// Partitions: what waits to be claimed, ordered by the time when it is due.

package memory

import (
	"container/heap"
	"time"

	"github.com/stepwell/stepwell/world/rules"
)

// entry is the place of a run or a task in a partition.
type entry struct {
	partition *partition // nil: in none
	pos       int
	due       int64 // µs
	order     int64 // among those due at the same time
	run       *run  // one of the three
	task      *task
	message   *message
}

// partition is a heap of entries: of one class and priority, or of one step name, workflow and priority.
type partition struct {
	workflow string
	priority int
	items    []*entry
}

func (l *partition) Len() int { return len(l.items) }

func (l *partition) Less(i, j int) bool {
	a, b := l.items[i], l.items[j]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.order < b.order
}

func (l *partition) Swap(i, j int) {
	l.items[i], l.items[j] = l.items[j], l.items[i]
	l.items[i].pos, l.items[j].pos = i, j
}

func (l *partition) Push(x any) {
	e := x.(*entry)
	e.pos = len(l.items)
	l.items = append(l.items, e)
}

func (l *partition) Pop() any {
	n := len(l.items) - 1
	e := l.items[n]
	l.items[n] = nil
	l.items = l.items[:n]
	return e
}

// head is what is due first, or nil.
func (l *partition) head() *entry {
	if len(l.items) == 0 {
		return nil
	}
	return l.items[0]
}

// move puts the entry into a partition, nil for none, and reports whether anything changed.
func (e *entry) move(to *partition, due int64) bool {
	if e.partition == to && (to == nil || e.due == due) {
		return false
	}
	if e.partition != nil {
		heap.Remove(e.partition, e.pos)
	}
	e.partition, e.due = to, due
	if to != nil {
		heap.Push(to, e)
	}
	return true
}

// candidate is the entry as others are compared with it.
func (e *entry) candidate() rules.Candidate {
	return rules.Candidate{Key: e.order, Workflow: e.partition.workflow, Priority: e.partition.priority, Due: time.UnixMicro(e.due)}
}

// pick returns what is to be claimed next, or nil where nothing is due.
func (w *World) pick(partitions []*partition, now int64) (next *entry) {
	var best rules.Candidate
	at := time.UnixMicro(now)
	for _, l := range partitions {
		if e := l.head(); e != nil && e.due <= now {
			if c := e.candidate(); next == nil || w.fairness.Before(&c, &best, at) {
				next, best = e, c
			}
		}
	}
	return next
}

// serve takes the entry: its workflow had its turn.
func (w *World) serve(e *entry) {
	w.fairness.Serve(e.candidate().Workflow)
	e.move(nil, 0)
}

// waiting tells, of partitions after a claim, whether something is due still and when the next will be; zero: never.
func waiting(partitions []*partition, now int64) (more bool, next int64) {
	for _, l := range partitions {
		e := l.head()
		switch {
		case e == nil:
		case e.due <= now:
			more = true
		case next == 0 || e.due < next:
			next = e.due
		}
	}
	return more, next
}
