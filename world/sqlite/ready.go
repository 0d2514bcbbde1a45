package sqlite

// This file tells what could be claimed, without claiming it, and claims one run or task by name.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	listReadyRuns  = load("list_ready_runs")
	listReadyTasks = load("list_ready_tasks")
	listCancelRuns = load("list_cancel_runs")
	listLostRuns   = load("list_lost_runs")
	listLostTasks  = load("list_lost_tasks")
	findReadyRun   = load("find_ready_run")
	findReadyTask  = load("find_ready_task")
)

// Ready lists what could be claimed; see [world.Admin]. It writes nothing, and includes what
// dead workers hold.
func (w *World) Ready(ctx context.Context, q world.ReadyQuery) (world.Ready, error) {
	out := world.Ready{Now: w.crew.now()}
	classes, steps, err := claimArgs(&world.ClaimQuery{Classes: q.Classes, Steps: q.Steps})
	if err != nil {
		return out, err
	}
	if err := wakeRates(ctx, w); err != nil {
		return out, err
	}
	l := &lister{out: &out, most: q.Most(), classes: classes, steps: steps, cancels: len(q.Classes) > 0}
	if err := w.read(ctx, l.list); err != nil {
		return world.Ready{}, err
	}
	rules.ListReady(&out, l.items, l.most)
	return out, nil
}

// wakeRates lets in who has his turn: who lists what is ready claims it by name.
func wakeRates(ctx context.Context, w *World) error {
	due, now := false, w.crew.now()
	if err := w.read(ctx, func(c *conn) error {
		return c.query(dueKeys, func(row) (bool, error) { due = true; return false, nil }, now.UnixMicro(), int64(1))
	}); err != nil || !due {
		return err
	}
	_, err := askFor(ctx, w, true, func(g *group) (none struct{}, err error) {
		defer g.queue.limits.shut()
		return none, g.queue.limits.wake()
	})
	return err
}

// lister makes one list of what is ready.
type lister struct {
	out            *world.Ready
	most           int
	classes, steps string
	cancels        bool
	items          []world.ReadyItem
}

// add lists what is due, and notes when the next is. It reports whether the rest of the partition is of interest.
func (l *lister) add(i world.ReadyItem) bool {
	if i.Due.After(l.out.Now) {
		l.out.Sooner(i.Due)
		return false
	}
	l.items = append(l.items, i)
	return true
}

func (l *lister) list(c *conn) error {
	fronts, err := readFronts(c, l.classes, l.steps, l.cancels)
	if err != nil {
		return err
	}
	names := make(map[int64]world.Class)
	if err := c.query(listClasses, func(r row) (bool, error) {
		names[r.int(0)] = world.Class{Workflow: r.text(1), Version: int(r.int(2))}
		return true, nil
	}); err != nil {
		return err
	}
	for i := range fronts {
		if err := l.partition(c, &fronts[i], names); err != nil {
			return err
		}
	}
	return l.lost(c)
}

// partition lists what is first in one partition, and one more, so that it shows when that is due, or that there is
// more.
func (l *lister) partition(c *conn, h *front, names map[int64]world.Class) error {
	if h.due.After(l.out.Now) {
		l.out.Sooner(h.due)
		return nil
	}
	n := int64(l.most + 1)
	switch h.kind {
	case rateKey:
		return nil
	case 0:
		return c.query(listReadyRuns, func(r row) (bool, error) {
			return l.add(world.ReadyItem{Run: r.text(0), Due: r.time(1), Priority: int(h.priority), Class: names[h.class]}), nil
		}, h.class, h.priority, n)
	case 1:
		return c.query(listReadyTasks, func(r row) (bool, error) {
			return l.add(world.ReadyItem{Run: r.text(0), Due: r.time(1), Step: r.text(2), StepName: h.name, Priority: int(h.priority)}), nil
		}, h.name, h.priority, h.workflow, n)
	default:
		for p := range int64(rules.Priorities) {
			if err := c.query(listCancelRuns, func(r row) (bool, error) {
				return l.add(world.ReadyItem{
					Run: r.text(0), Due: r.time(1), Priority: int(r.int(2)), Class: world.Class{Workflow: r.text(3), Version: int(r.int(4))},
				}), nil
			}, n, l.classes, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// lost lists what workers hold whose lease is over, as the file shows it, and notes when others might be.
func (l *lister) lost(c *conn) error {
	type holder struct {
		key   int64
		until time.Time
	}
	var dead []holder
	if err := c.query(listWorkers, func(r row) (bool, error) {
		if h := (holder{r.int(0), r.time(8)}); !h.until.After(l.out.Now) {
			dead = append(dead, h)
		} else if r.int(9)+r.int(10) > 0 {
			l.out.Sooner(h.until)
		}
		return true, nil
	}); err != nil {
		return err
	}
	for _, h := range dead {
		if l.cancels {
			if err := c.query(listLostRuns, func(r row) (bool, error) {
				return l.add(world.ReadyItem{
					Run: r.text(0), Due: h.until, Priority: int(r.int(1)), Class: world.Class{Workflow: r.text(2), Version: int(r.int(3))},
				}), nil
			}, h.key, l.classes, int64(l.most+1)); err != nil {
				return err
			}
		}
		if err := c.query(listLostTasks, func(r row) (bool, error) {
			return l.add(world.ReadyItem{Run: r.text(0), Due: h.until, Priority: int(r.int(1)), Step: r.text(2), StepName: r.text(3)}), nil
		}, h.key, l.steps, int64(l.most+1)); err != nil {
			return err
		}
	}
	return nil
}

// claimOnly gives the one run or task that is asked for, if it is ready.
func (g *group) claimOnly(q *world.ClaimQuery, wk *worker, classes, steps string, out *world.Claimed) error {
	var key int64
	scan := func(r row) error { key = r.int(0); return nil }
	if q.Step == "" {
		if q.Runs <= 0 {
			return nil
		}
		found, err := g.tx.one(findReadyRun, scan, q.Run, g.tx.now().UnixMicro(), classes)
		if err != nil || !found {
			return err
		}
		t, err := g.queue.give(key, wk)
		if err == nil && t.Run != "" {
			out.Runs = append(out.Runs, t)
		}
		return err
	}
	if q.Tasks <= 0 {
		return nil
	}
	found, err := g.tx.one(findReadyTask, scan, q.Run, q.Step, g.tx.now().UnixMicro(), steps)
	if err != nil || !found {
		return err
	}
	t, err := g.tasks.give(key, wk)
	if err == nil && t.Run != "" {
		out.Tasks = append(out.Tasks, t)
	}
	return err
}
