package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	showRun       = load("show_run")
	createdAt     = load("created_at")
	showHook      = load("show_hook")
	listRunHooks  = load("list_run_hooks")
	listHooks     = load("list_hooks")
	showEndedHook = load("show_ended_hook")
)

// Run reads one run; see [world.Admin].
func (w *World) Run(ctx context.Context, id string) (out world.Run, err error) {
	err = w.read(ctx, func(c *conn) error {
		found, err := c.one(showRun, func(r row) error {
			out = scanRun(r)
			readInput(r, &out)
			return nil
		}, id)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("run %s: %w", id, world.ErrNotFound)
		}
		row, err := tellHeirs(c, []world.Run{out}, false)
		if out = row[0]; err != nil || out.Queue != nil {
			return err
		}
		return late(c, &out)
	})
	if err != nil {
		return world.Run{}, err
	}
	w.counters.rowsRead.Add(1)
	return out, nil
}

// Runs lists runs, newest first; see [world.Admin]. Cursors stay valid while runs are created and
// end. With a filter, a page may be short, or empty, and still have a cursor.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (page world.RunPage, err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	before, err := rules.ParseRunCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	return w.runs(ctx, &q, before, rules.MostScanned)
}

// runs is Runs for a page that passes over so many runs at most.
func (w *World) runs(ctx context.Context, q *world.RunQuery, before int64, most int) (page world.RunPage, err error) {
	err = w.read(ctx, func(c *conn) error {
		l, err := way(c, q, before)
		if err != nil {
			return err
		}
		edge, err := l.reach(c, before, most)
		if err != nil {
			return err
		}
		if page, err = w.page(c, q, &l, before, edge); err != nil {
			return err
		}
		page.Runs, err = tellHeirs(c, page.Runs, q.Roots)
		return err
	})
	if err != nil {
		return world.RunPage{}, err
	}
	return page, nil
}

// page reads the runs between two keys, until the page is full or has looked at as many inputs as it may.
func (w *World) page(c *conn, q *world.RunQuery, l *listing, before, edge int64) (page world.RunPage, err error) {
	if edge > 0 {
		page.Cursor = rules.RunCursor(edge + 1)
	}
	list, last := rules.RunPage{Query: q}, int64(0)
	var reached time.Time
	err = c.query(l.list, func(r row) (bool, error) {
		run := scanRun(r)
		run.Merged = l.merged[r.int(0)]
		if !q.Fits(&run) {
			return true, nil
		}
		if list.Full() {
			page.Cursor, page.Reached = rules.RunCursor(last), reached
			return false, nil
		}
		last, reached = r.int(0), run.CreatedAt
		readInput(r, &run)
		err := list.Add(&run)
		return err == nil, err
	}, append([]any{before, edge}, l.args...)...)
	page.Runs = list.Runs
	w.counters.rowsRead.Add(int64(list.Looked))
	if err == nil && page.Cursor != "" && page.Reached.IsZero() {
		_, err = c.one(createdAt, func(r row) error { page.Reached = r.time(0); return nil }, edge)
	}
	return page, err
}

// Hooks lists active hooks, oldest first; see [world.Admin].
func (w *World) Hooks(ctx context.Context, q world.HookQuery) (out []world.HookRow, err error) {
	limit := rules.ListLimit(q.Limit)
	ended, bytes := false, 0
	err = w.read(ctx, func(c *conn) error {
		each := func(r row) (bool, error) {
			h := world.HookRow{Ended: ended, ID: r.text(0), Run: r.text(1), Token: r.text(2), Metadata: r.bytes(3), CreatedAt: r.time(4)}
			h.CheckMetadata()
			if q.Run == "" || h.Run == q.Run {
				out = append(out, h)
				bytes += len(h.Metadata)
			}
			return bytes < world.PageBytes, nil
		}
		switch {
		case q.Token != "":
			if err := c.query(showHook, each, q.Token); err != nil || !q.Ended || len(out) > 0 {
				return err
			}
			ended = true
			return c.query(showEndedHook, each, q.Token)
		case q.Run != "":
			return c.query(listRunHooks, each, q.Run, int64(limit))
		default:
			return c.query(listHooks, each, int64(limit))
		}
	})
	world.SortHooks(out)
	return out, err
}
