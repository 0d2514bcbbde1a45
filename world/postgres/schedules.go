package postgres

// Schedules. Rows are not looked into.

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	listSchedules    = load("list_schedules")
	listOfSet        = load("list_of_set")
	findSchedules    = load("find_schedules")
	dueSchedules     = load("due_schedules")
	nextSchedule     = load("next_schedule")
	makeSchedule     = load("make_schedule")
	holdSchedules    = load("hold_schedules")
	changeSchedules  = load("change_schedules")
	changeSchedule   = load("change_schedule")
	deleteOfSchedule = load("delete_schedule")
)

// schedules are the schedules of a schema. Who changes a row names the change that it read: the others wait, and then
// change nothing.
type schedules struct{ w *World }

// Schedules returns the store of schedules; see [world.World].
func (w *World) Schedules() world.Scheduler { return schedules{w} }

func scanSchedule(row scanner, all *[]world.Schedule) error {
	var name, said string
	var sum int32
	var change int64
	err := row.Scan(&name, &said, &sum, &change)
	*all = append(*all, layout.ReadSchedule(name, said, layout.SumOf(sum), change))
	return err
}

// Schedules are pages of schedules; see [world.Scheduler].
func (k schedules) Schedules(ctx context.Context, q world.ScheduleQuery) (out []world.Schedule, err error) {
	if err := world.CheckScheduleQuery(&q); err != nil {
		return nil, err
	}
	add := func(row pgx.Rows) error { return scanSchedule(row, &out) }
	if q.Names != nil {
		names := slices.DeleteFunc(slices.Clone(q.Names), func(name string) bool { return name <= q.After || world.CheckScheduleName("", name) != nil })
		err = k.w.read(ctx, findSchedules, add, names, int64(q.Limit))
	} else if q.Set != "" {
		err = k.w.read(ctx, listOfSet, add, q.Set, q.After, int64(q.Limit))
	} else {
		err = k.w.read(ctx, listSchedules, add, q.After, int64(q.Limit))
	}
	return q.Fits(out), err
}

// DueSchedules tells what is due; see [world.Scheduler].
func (k schedules) DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (d world.DueSchedules, err error) {
	if err := world.CheckDueSchedules(limit); err != nil {
		return d, err
	}
	err = k.w.batch(ctx, func(q *pgx.Batch) {
		d = world.DueSchedules{}
		q.Queue(k.w.sql(dueSchedules), code, int64(limit+1)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := scanSchedule(rows, &d.Schedules); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		q.Queue(k.w.sql(nextSchedule), code).QueryRow(func(row pgx.Row) error {
			var next *time.Time
			err := row.Scan(&d.Now, &next)
			d.Now, d.Next = d.Now.UTC(), at(next)
			return err
		})
	})
	d.More = len(d.Schedules) > limit
	d.Schedules = d.Schedules[:min(limit, len(d.Schedules))]
	if err != nil || hold <= 0 || len(d.Schedules) == 0 {
		return d, err
	}
	var held []world.Schedule
	err = k.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		held = nil
		return k.w.in(tx).each(ctx, holdSchedules, func(row scanner) error { return scanSchedule(row, &held) }, code, int64(limit), hold.Microseconds())
	})
	d.Schedules = held
	return d, err
}

// PutSchedule writes a row; see [world.Scheduler].
func (k schedules) PutSchedule(ctx context.Context, s world.Schedule) (put bool, err error) {
	if err := world.CheckSchedule(&s); err != nil {
		return false, err
	}
	err = k.w.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		put, err = putSchedule(ctx, k.w.in(tx), &s)
		return err
	})
	if put && err == nil {
		k.w.telling.tell(world.Notice{Kind: world.NoticeSchedule})
	}
	return put && err == nil, err
}

func putSchedule(ctx context.Context, in txn, s *world.Schedule) (bool, error) {
	r, err := scheduleRowOf(s)
	if err != nil {
		return false, err
	}
	args := []any{r.name, r.said, r.sum, r.code, r.due, r.set}
	write, change := makeSchedule, layout.FirstChange()
	if s.Change != 0 {
		write, change = changeSchedule, s.Change
	}
	n, err := in.exec(ctx, write, append(args, change)...)
	return n == 1, err
}

// writeSchedules adds the changes of schedules that start runs of a group.
func (b *script) writeSchedules(rows []scheduleRow) {
	b.put(len(rows), changeSchedules, func() []any {
		return []any{
			column(rows, func(r *scheduleRow) string { return r.name }), column(rows, func(r *scheduleRow) string { return r.said }),
			column(rows, func(r *scheduleRow) int32 { return r.sum }), column(rows, func(r *scheduleRow) string { return r.code }),
			column(rows, func(r *scheduleRow) *time.Time { return r.due }), column(rows, func(r *scheduleRow) *string { return r.set }),
			column(rows, func(r *scheduleRow) int64 { return r.change }),
		}
	})
}

// scheduleRow is the row of a schedule, with the change that it was read with.
type scheduleRow struct {
	name, said, code string
	sum              int32
	due              *time.Time
	set              *string
	change           int64
}

func scheduleRowOf(s *world.Schedule) (scheduleRow, error) {
	said, sum, err := layout.ScheduleRow(s)
	r := scheduleRow{name: s.Name, said: said, sum: sum.Value(), code: s.CodeSet(), set: orNull(s.Set), change: s.Change}
	if !s.Is.Due.IsZero() {
		r.due = &s.Is.Due
	}
	return r, err
}

// DeleteSchedule deletes a row; see [world.Scheduler].
func (k schedules) DeleteSchedule(ctx context.Context, name string) error {
	if world.CheckScheduleName("", name) != nil {
		return world.NoSchedule(name)
	}
	return k.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n, err := k.w.in(tx).exec(ctx, deleteOfSchedule, name)
		if err == nil && n == 0 {
			err = world.NoSchedule(name)
		}
		return err
	})
}
