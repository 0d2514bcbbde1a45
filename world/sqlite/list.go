package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Lists have a default and a largest page, and look at a bounded number of rows.
const (
	defaultList = 100
	largestList = 1000
	mostScanned = 20_000
)

func listLimit(n int) int {
	if n <= 0 {
		return defaultList
	}
	return min(n, largestList)
}

var (
	showRun          = load("show_run")
	listRuns         = load("list_runs")
	listWorkflowRuns = load("list_workflow_runs")
	showHook         = load("show_hook")
	listRunHooks     = load("list_run_hooks")
	listHooks        = load("list_hooks")
)

// Run reads one run; see [world.Admin].
func (w *World) Run(ctx context.Context, id string) (out world.Run, err error) {
	err = w.read(ctx, func(c *conn) error {
		var l listed
		found, err := c.one(showRun, func(r row) (err error) { l, err = scanRun(r); return err }, id)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("run %s: %w", id, world.ErrNotFound)
		}
		out, err = w.complete(c, l)
		return err
	})
	return out, err
}

// Runs lists runs, newest first. A cursor is the key of the last run that was looked at, so it holds whatever is born or ends meanwhile; a page
// of a filtered list may be short, also empty, and have a cursor.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (page world.RunPage, err error) {
	before, err := parseRunCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	candidates, limit := q, listLimit(q.Limit)
	if q.Filtered() {
		candidates.Limit = largestList
	}
	err = w.read(ctx, func(c *conn) error {
		found, cursor, err := findRuns(c, &candidates, before)
		if err != nil {
			return err
		}
		page.Cursor = cursor
		for i, l := range found {
			r, err := w.complete(c, l)
			if err != nil {
				return err
			}
			if !q.Holds(&r) {
				continue
			}
			if page.Runs = append(page.Runs, r); len(page.Runs) == limit && i < len(found)-1 {
				page.Cursor = runCursor(l.key)
				break
			}
		}
		return nil
	})
	return page, err
}

func findRuns(c *conn, q *world.RunQuery, before int64) (found []listed, cursor string, err error) {
	limit, scanned, last := listLimit(q.Limit), 0, int64(0)
	each := func(r row) (bool, error) {
		if scanned++; scanned > mostScanned {
			cursor = runCursor(last)
			return false, nil
		}
		at := r.int(0)
		if l, err := scanRun(r); err != nil {
			return false, err
		} else if matches(&l.run, q) {
			if len(found) == limit {
				cursor = runCursor(found[limit-1].key)
				return false, nil
			}
			found = append(found, l)
		}
		last = at
		return true, nil
	}
	if q.Workflow != "" {
		err = c.query(listWorkflowRuns, each, before, q.Workflow)
	} else {
		err = c.query(listRuns, each, before)
	}
	return found, cursor, err
}

func runCursor(key int64) string { return "r" + strconv.FormatInt(key, 10) }

func parseRunCursor(c string) (int64, error) {
	if c == "" {
		return math.MaxInt64, nil
	}
	if digits, ok := strings.CutPrefix(c, "r"); ok {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == digits {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: cursor %.40q of a list of runs", world.ErrInvalid, c)
}

func matches(r *world.Run, q *world.RunQuery) bool {
	return (len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.Since.IsZero() || !r.CreatedAt.Before(q.Since)) &&
		(q.Until.IsZero() || r.CreatedAt.Before(q.Until))
}

// Hooks lists active hooks, oldest first; see [world.Admin].
func (w *World) Hooks(ctx context.Context, q world.HookQuery) (out []world.HookRow, err error) {
	limit := listLimit(q.Limit)
	err = w.read(ctx, func(c *conn) error {
		each := func(r row) (bool, error) {
			h := world.HookRow{ID: r.text(0), Run: r.text(1), Token: r.text(2), Metadata: r.bytes(3), CreatedAt: r.time(4)}
			if q.Run == "" || h.Run == q.Run {
				out = append(out, h)
			}
			return true, nil
		}
		switch {
		case q.Token != "":
			return c.query(showHook, each, q.Token)
		case q.Run != "":
			return c.query(listRunHooks, each, q.Run, int64(limit))
		default:
			return c.query(listHooks, each, int64(limit))
		}
	})
	return out, err
}

// listed is a run as its row and the queue tell it; the rest is read apart.
type listed struct {
	run   world.Run
	key   int64
	class int64
}
