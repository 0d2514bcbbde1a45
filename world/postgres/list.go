package postgres

// Runs as people see them: one, and lists.

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// Lists have a default and a largest page; a page of a filtered list looks at a bounded number of runs.
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
	runsEdge         = load("runs_edge")
	workflowRunsEdge = load("workflow_runs_edge")
)

// Run reads one run; see [world.Admin].
func (w *World) Run(ctx context.Context, id string) (out world.Run, err error) {
	found := false
	err = w.read(ctx, showRun, func(row pgx.Rows) (err error) {
		found = true
		_, out, err = scanRun(row)
		return err
	}, id)
	if err == nil && !found {
		err = fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	if err != nil {
		return world.Run{}, err
	}
	w.counters.rowsRead.Add(1)
	return out, nil
}

// Runs lists runs, newest first. A cursor is the key of the last run that was looked at, so it holds whatever is born or ends meanwhile; a page
// of a filtered list may be short, also empty, and have a cursor.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (page world.RunPage, err error) {
	before, err := parseRunCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	list, edge, tail := listRuns, runsEdge, []any(nil)
	if q.Workflow != "" {
		list, edge, tail = listWorkflowRuns, workflowRunsEdge, []any{q.Workflow}
	}
	oldest := int64(0) // nothing older than this is looked at
	if len(q.Status) > 0 || !q.Since.IsZero() || !q.Until.IsZero() {
		each := func(row pgx.Rows) error { return row.Scan(&oldest) }
		if err := w.read(ctx, edge, each, append([]any{before, mostScanned}, tail...)...); err != nil {
			return page, err
		}
	}
	limit := listLimit(q.Limit)
	last, more := int64(0), oldest > 0
	each := func(row pgx.Rows) error {
		key, r, err := scanRun(row)
		if err != nil {
			return err
		}
		if len(page.Runs) == limit {
			more = true
			return nil
		}
		page.Runs, last = append(page.Runs, r), key
		return nil
	}
	args := []any{before, oldest, statusTexts(q.Status), timeOrNull(q.Since), timeOrNull(q.Until), limit + 1}
	if err := w.read(ctx, list, each, append(args, tail...)...); err != nil {
		return world.RunPage{}, err
	}
	w.counters.rowsRead.Add(int64(len(page.Runs)))
	if len(page.Runs) < limit || last == 0 {
		last = oldest // all down to it was looked at
	}
	if more {
		page.Cursor = "r" + strconv.FormatInt(last, 10)
	}
	return page, nil
}

func statusTexts(all []world.Status) []string {
	texts := make([]string, 0, len(all))
	for _, s := range all {
		if storable([]any{string(s)}) {
			texts = append(texts, string(s))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return texts
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

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
