// Open tasks that hold places of limits, and whose steps no live worker has.

package memory

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// neglected has the tasks of steps that no live worker has had for a while give back their places, and leave their
// lines. It tells when to look again; 0: nothing is known.
func (l *limits) neglected(n *notices) time.Duration {
	if len(l.keys) == 0 {
		return 0
	}
	now := l.w.now()
	l.w.expire(now, n)
	var steps []string
	for name, all := range l.w.taskPartitions {
		if slices.ContainsFunc(all, func(p *partition) bool { return len(p.items) > 0 }) && !l.does(name) {
			steps = append(steps, name)
		}
	}
	slices.Sort(steps)
	due, next := l.neglect.Look(steps, now, world.NeglectAfter)
	if l.neglectedQueues(n) && (next == 0 || next > world.NeglectAfter) {
		next = world.NeglectAfter
	}
	if len(due) == 0 {
		return next
	}
	var tasks []*task
	for _, r := range l.w.runs {
		for _, t := range r.tasks {
			if t.neglected() && slices.Contains(due, t.Name) {
				tasks = append(tasks, t)
			}
		}
	}
	slices.SortFunc(tasks, func(a, b *task) int { // those in line first: they are not to be let in by the others
		return cmp.Or(b.placed.parks()-a.placed.parks(), cmp.Compare(a.entry.order, b.entry.order))
	})
	for _, t := range tasks {
		l.restTask(t, false, n)
		t.show(l.w, n)
	}
	return next
}

// neglectedQueues has the messages of queues that nobody receives from do as much, where others share their limits. It
// reports whether any share.
func (l *limits) neglectedQueues(n *notices) (shared bool) {
	now := l.w.now()
	by := make(map[string]int) // how many queues have a limit
	for _, q := range l.w.messages.queues {
		for _, said := range q.Limits {
			by[said.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.w.messages.queues)) {
		q := l.w.messages.queues[name]
		if !slices.ContainsFunc(q.Limits, func(said world.SaidLimit) bool {
			of := l.named[said.Name]
			return by[said.Name] > 1 || of != nil && (of.Runs || of.Steps)
		}) {
			continue
		}
		shared = true
		var all []*message
		out, waits := false, false
		for _, m := range q.all {
			if m.held && m.visible.After(now) {
				out = true
			}
			if m.placed != nil && !m.dead && (m.placed.Has > 0 || m.placed.Parked) {
				all = append(all, m)
				waits = waits || !m.placed.Parked && now.Sub(m.visible) >= world.NeglectAfter
			}
		}
		if out || !waits {
			continue
		}
		slices.SortFunc(all, func(a, b *message) int { // those in line first: they are not to be let in by the others
			return cmp.Or(b.placed.parks()-a.placed.parks(), cmp.Compare(a.number, b.number))
		})
		for _, m := range all {
			if m.placed.Parked {
				m.visible = now
				heap.Push(&q.line[m.Rank()], m)
			}
			m.held = false
			l.restEntry(&m.entry, n)
			n.add(world.NoticeMessage, m.Queue)
		}
	}
	return shared
}

// neglected reports whether a task that nobody holds has places, or stands in line.
func (t *task) neglected() bool {
	return t.holder == nil && t.placed != nil && (t.placed.Has > 0 || t.placed.Parked)
}

func (p *placed) parks() int {
	if p.Parked {
		return 1
	}
	return 0
}

// does reports whether a live worker has a step.
func (l *limits) does(step string) bool {
	for _, wk := range l.w.workers {
		if slices.Contains(wk.Steps, step) {
			return true
		}
	}
	return false
}
