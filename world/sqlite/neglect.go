package sqlite

// Open tasks that hold places of limits, and whose steps no live worker has.

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	neglectedSteps = load("neglected_steps")
	neglectedTasks = load("neglected_tasks")
	neglectedTask  = load("neglected_task")

	sharedQueues      = load("shared_queues")
	neglectedQueue    = load("neglected_queue")
	neglectedMessages = load("neglected_messages")
	endReceive        = load("end_receive")
)

// neglected has the tasks of steps that no live worker has had for a while give back their places, and leave their
// lines. It tells when to look again; 0: nothing is known.
func (s starts) neglected(ctx context.Context) (next time.Duration, err error) {
	var steps []string
	now := s.w.Time()
	if err := s.w.read(ctx, func(c *conn) error {
		steps = nil
		return c.query(neglectedSteps, func(r row) (bool, error) { steps = append(steps, r.text(0)); return true, nil }, now.UnixMicro())
	}); err != nil {
		return 0, err
	}
	due, next := s.w.neglect.Look(steps, now, world.NeglectAfter)
	for _, step := range due {
		if err := s.restStep(ctx, step); err != nil {
			return 0, err
		}
	}
	shared, err := s.neglectedQueues(ctx)
	if shared {
		next = sooner(next, world.NeglectAfter)
	}
	return next, err
}

// neglectedQueues has the messages of queues that nobody receives from do as much, where others share their limits, and
// reports whether any share.
func (s starts) neglectedQueues(ctx context.Context) (shared bool, err error) {
	var queues, due []int64
	now := s.w.Time()
	if err := s.w.read(ctx, func(c *conn) error {
		due = nil
		var err error
		if queues, err = sharedOf(c); err != nil {
			return err
		}
		for _, queue := range queues {
			out, waits := false, false
			for priority := range int64(rules.Priorities) {
				if _, err := c.one(neglectedQueue, func(r row) error {
					out, waits = out || r.bool(0), waits || r.bool(1)
					return nil
				}, queue, priority, now.UnixMicro(), now.Add(-world.NeglectAfter).UnixMicro()); err != nil {
					return err
				}
			}
			if waits && !out {
				due = append(due, queue)
			}
		}
		return nil
	}); err != nil {
		return false, err
	}
	for _, queue := range due {
		for _, parked := range []bool{true, false} { // those in line first: they are not to be let in by the others
			if err := s.restQueue(ctx, queue, parked); err != nil {
				return true, err
			}
		}
	}
	return len(queues) > 0, nil
}

// sharedOf are the queues that share a limit with other queues, with steps or with runs.
func sharedOf(c *conn) (queues []int64, err error) {
	first := make(map[string]int64) // of the queues with a limit
	shared := make(map[int64]bool)
	err = c.query(sharedQueues, func(r row) (bool, error) {
		queue, name := r.int(0), r.text(1)
		if other, has := first[name]; has && other != queue {
			shared[other], shared[queue] = true, true
		} else if first[name] = queue; r.bool(2) {
			shared[queue] = true
		}
		return true, nil
	})
	return slices.Sorted(maps.Keys(shared)), err
}

// restQueue has the messages of a queue that nobody has received give back what they have, page by page: those in line,
// or the others.
func (s starts) restQueue(ctx context.Context, queue int64, parked bool) error {
	for last := int64(0); ; {
		var keys []int64
		now := s.w.Time().UnixMicro()
		if err := s.w.read(ctx, func(c *conn) error {
			keys = nil
			return c.query(neglectedMessages, func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }, queue, last, parked, now, int64(world.NeglectPage))
		}); err != nil || len(keys) == 0 {
			return err
		}
		if _, err := ask(ctx, s.w, func(g *group) (struct{}, error) { return struct{}{}, g.queue.limits.restMessages(keys) }); err != nil {
			return err
		}
		last = keys[len(keys)-1]
	}
}

// restMessages has messages give back what they have, unless somebody received them meanwhile.
func (l *limits) restMessages(keys []int64) error {
	for _, key := range keys {
		now := l.tx.now().UnixMicro()
		waits, err := l.tx.one(endReceive, func(row) error { return nil }, key, now)
		if err != nil {
			return err
		}
		m, err := messageOf(l, key)
		if err != nil {
			return err
		}
		if !waits || m == nil || m.Has == 0 && !m.Parked {
			continue
		}
		var ready any
		if m.Parked {
			ready = now
			l.tx.notice(m.news()) // who receives by now may have looked for it
		}
		if err := rules.Rest[liner](l, m, false); err != nil {
			return err
		}
		if err := m.write(l, ready); err != nil {
			return err
		}
	}
	return nil
}

// restStep has all tasks of a step that nobody holds give back what they have, page by page.
func (s starts) restStep(ctx context.Context, step string) error {
	for {
		var keys []int64
		if err := s.w.read(ctx, func(c *conn) error {
			keys = nil
			return c.query(neglectedTasks, func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }, step, int64(world.NeglectPage))
		}); err != nil || len(keys) == 0 {
			return err
		}
		rested, err := ask(ctx, s.w, func(g *group) (int, error) { return g.queue.limits.restOpen(keys) })
		if err != nil || rested < world.NeglectPage {
			return err
		}
	}
}

// restOpen has tasks give back what they have, unless somebody holds them meanwhile.
func (l *limits) restOpen(keys []int64) (rested int, err error) {
	for _, key := range keys {
		var t *placedTask
		if _, err := l.tx.one(neglectedTask, func(r row) error { t = scanTask(r); return nil }, key); err != nil {
			return rested, err
		}
		if t == nil || t.Has == 0 && !t.Parked {
			continue
		}
		if t.Parked {
			t.visible = l.tx.now().UnixMicro()
			l.tx.notice(t.news()) // who joined a moment ago may have looked for it
		}
		if err := rules.Rest[liner](l, t, false); err != nil {
			return rested, err
		}
		if err := t.write(l); err != nil {
			return rested, err
		}
		rested++
	}
	return rested, nil
}
