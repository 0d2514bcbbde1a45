package sqlite

// Schedules. Rows are not looked into.

import (
	"context"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	listSchedules    = load("list_schedules")
	listOfSet        = load("list_of_set")
	findSchedule     = load("find_schedule")
	dueSchedules     = load("due_schedules")
	nextSchedule     = load("next_schedule")
	scheduleChange   = load("schedule_change")
	writeSchedule    = load("put_schedule")
	deleteOfSchedule = load("delete_schedule")
)

// schedules are the schedules of a World.
type schedules struct{ w *World }

// Schedules returns the store of schedules; see [world.World].
func (w *World) Schedules() world.Scheduler { return schedules{w} }

func scanSchedule(r row) world.Schedule {
	return layout.ReadSchedule(r.text(0), r.text(1), r.sum(2), r.int(3))
}

// Schedules are pages of schedules; see [world.Scheduler].
func (k schedules) Schedules(ctx context.Context, q world.ScheduleQuery) (out []world.Schedule, err error) {
	if err := world.CheckScheduleQuery(&q); err != nil {
		return nil, err
	}
	add := func(r row) (bool, error) { out = append(out, scanSchedule(r)); return true, nil }
	err = k.w.read(ctx, func(c *conn) error {
		out = nil
		if q.Names == nil && q.Set != "" {
			return c.query(listOfSet, add, q.Set, q.After, int64(q.Limit))
		}
		if q.Names == nil {
			return c.query(listSchedules, add, q.After, int64(q.Limit))
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(q.Names))) {
			if name <= q.After {
				continue
			}
			if err := c.query(findSchedule, add, name); err != nil {
				return err
			}
		}
		return nil
	})
	return q.Fits(out), err
}

// DueSchedules tells what is due; see [world.Scheduler].
func (k schedules) DueSchedules(ctx context.Context, code string, limit int, _ time.Duration) (d world.DueSchedules, err error) {
	if err := world.CheckDueSchedules(limit); err != nil {
		return d, err
	}
	err = k.w.read(ctx, func(c *conn) error {
		d = world.DueSchedules{Now: k.w.Time()}
		if err := c.query(dueSchedules, func(r row) (bool, error) {
			if d.More = len(d.Schedules) == limit; !d.More {
				d.Schedules = append(d.Schedules, scanSchedule(r))
			}
			return true, nil
		}, code, d.Now.UnixMicro(), int64(limit+1)); err != nil {
			return err
		}
		_, err := c.one(nextSchedule, func(r row) error { d.Next = r.time(0); return nil }, code, d.Now.UnixMicro())
		return err
	})
	return d, err
}

// PutSchedule writes a row; see [world.Scheduler].
func (k schedules) PutSchedule(ctx context.Context, s world.Schedule) (bool, error) {
	if err := world.CheckSchedule(&s); err != nil {
		return false, err
	}
	return ask(ctx, k.w, func(g *group) (bool, error) { return putSchedule(&g.tx, &s) })
}

func putSchedule(tx *txn, s *world.Schedule) (bool, error) {
	change := int64(0)
	if _, err := tx.one(scheduleChange, func(r row) error { change = r.int(0); return nil }, s.Name); err != nil || change != s.Change {
		return false, err
	}
	said, sum, err := layout.ScheduleRow(s)
	if err != nil {
		return false, err
	}
	var due any
	if !s.Is.Due.IsZero() {
		due = s.Is.Due.UnixMicro()
	}
	if change++; s.Change == 0 {
		change = layout.FirstChange()
	}
	tx.notice(world.NoticeSchedule, "")
	return true, tx.exec(writeSchedule, s.Name, said, int64(sum.Value()), change, s.CodeSet(), due, orNull(s.Set))
}

// DeleteSchedule deletes a row; see [world.Scheduler].
func (k schedules) DeleteSchedule(ctx context.Context, name string) error {
	_, err := ask(ctx, k.w, func(g *group) (struct{}, error) {
		switch found, err := g.tx.one(scheduleChange, func(row) error { return nil }, name); {
		case err != nil:
			return struct{}{}, err
		case !found:
			return struct{}{}, world.NoSchedule(name)
		}
		return struct{}{}, g.tx.exec(deleteOfSchedule, name)
	})
	return err
}
