// Lanes: what waits to be taken, ordered by the time when it is due.

package memory

import (
	"container/heap"
	"time"
)

// priorities are 0 to 3.
const priorities = 4

// aging is how long a run or task waits to count one priority higher.
const aging = time.Minute

// entry is the place of a run or a task in a lane.
type entry struct {
	lane  *lane // nil: in none
	pos   int
	due   int64 // µs
	order int64 // among those due at the same time
	run   *run  // one of the two
	task  *task
}

// lane is a heap of entries: of one class and priority, or of one step name, workflow and priority.
type lane struct {
	workflow string
	priority int
	items    []*entry
}

func (l *lane) Len() int { return len(l.items) }

func (l *lane) Less(i, j int) bool {
	a, b := l.items[i], l.items[j]
	if a.due != b.due {
		return a.due < b.due
	}
	return a.order < b.order
}

func (l *lane) Swap(i, j int) {
	l.items[i], l.items[j] = l.items[j], l.items[i]
	l.items[i].pos, l.items[j].pos = i, j
}

func (l *lane) Push(x any) {
	e := x.(*entry)
	e.pos = len(l.items)
	l.items = append(l.items, e)
}

func (l *lane) Pop() any {
	n := len(l.items) - 1
	e := l.items[n]
	l.items[n] = nil
	l.items = l.items[:n]
	return e
}

// head is what is due first, or nil.
func (l *lane) head() *entry {
	if len(l.items) == 0 {
		return nil
	}
	return l.items[0]
}

// move puts the entry into a lane, nil for none, and reports whether anything changed.
func (e *entry) move(to *lane, due int64) bool {
	if e.lane == to && (to == nil || e.due == due) {
		return false
	}
	if e.lane != nil {
		heap.Remove(e.lane, e.pos)
	}
	e.lane, e.due = to, due
	if to != nil {
		heap.Push(to, e)
	}
	return true
}

// effective is the priority of the entry when it has waited until now.
func (l *lane) effective(e *entry, now int64) int64 {
	return int64(l.priority) + (now-e.due)/aging.Microseconds()
}

// workflowOf names the workflow whose turn it is when the entry is taken.
func (e *entry) workflowOf() string {
	if e.run != nil {
		return e.run.birth.Workflow
	}
	return e.task.Workflow
}

// pick returns what is to be taken next: higher priority first, then the workflow that had its turn the longest time ago,
// then what is due longest. It returns nil where nothing is due.
func (w *World) pick(lanes []*lane, now int64) *entry {
	var best *entry
	var bestLevel, bestServed int64
	for _, l := range lanes {
		e := l.head()
		if e == nil || e.due > now {
			continue
		}
		level, served := l.effective(e, now), w.served[e.workflowOf()]
		better := best == nil || level > bestLevel ||
			level == bestLevel && (served < bestServed || served == bestServed && (e.due < best.due || e.due == best.due && e.order < best.order))
		if better {
			best, bestLevel, bestServed = e, level, served
		}
	}
	return best
}

// served notes that a workflow had its turn.
func (w *World) serve(e *entry) {
	w.turn++
	w.served[e.workflowOf()] = w.turn
	e.move(nil, 0)
}

// waiting tells, of lanes after a take, whether something is due still and when the next will be; zero: never.
func waiting(lanes []*lane, now int64) (more bool, next int64) {
	for _, l := range lanes {
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
