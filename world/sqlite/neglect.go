package sqlite

// Open tasks that hold places of limits, and whose steps no live worker has.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	neglectedSteps = load("neglected_steps")
	neglectedTasks = load("neglected_tasks")
	neglectedTask  = load("neglected_task")
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
	return next, nil
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
