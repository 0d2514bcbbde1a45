package postgres

// Runs as people see them: one, and lists.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	showRun            = load("show_run")
	listRuns           = load("list_runs")
	listWorkflowRuns   = load("list_workflow_runs")
	edgeOfRuns         = load("edge_of_runs")
	edgeOfWorkflowRuns = load("edge_of_workflow_runs")
)

// reader reads for people: runs, their logs, streams, tasks and hooks. It has no state, and changes nothing but for the
// keys that it binds.
type reader struct{ *database }

// Run reads one run; see [world.Admin].
func (rd *reader) Run(ctx context.Context, id string) (out world.Run, err error) {
	found := false
	err = rd.read(ctx, showRun, func(row pgx.Rows) (err error) {
		found = true
		_, out, err = scanRun(row)
		return err
	}, id)
	switch {
	case err != nil:
		return world.Run{}, err
	case !found:
		return world.Run{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	row, err := tellHeirs(ctx, rd, []world.Run{out}, false)
	if out = row[0]; err == nil && out.Queue == nil {
		err = rd.read(ctx, listLate, func(row pgx.Rows) error {
			var text []byte
			var l world.Late
			if err := row.Scan(&text); err != nil {
				return err
			}
			if err := json.Unmarshal(text, &l); err != nil {
				out.Unreadable("what came too late", err)
				return nil
			}
			l.ArrivedAt = l.ArrivedAt.UTC()
			out.Late = append(out.Late, l)
			return nil
		}, id, world.LateShown)
	}
	if err != nil {
		return world.Run{}, err
	}
	rd.counters.rowsRead.Add(1)
	return out, nil
}

var listLate = load("list_late")

// rank is where a run stands in the list: by its birth, and by its key among those that were created in the same microsecond.
type rank struct {
	created time.Time
	key     int64
}

// newest and oldest are beyond all runs.
var (
	newest = rank{dusk.Add(1), math.MaxInt64}
	oldest = rank{dawn, math.MinInt64}
)

// Runs lists runs, newest first. A cursor is the place of the last run that was looked at, so it holds whatever is created or ends meanwhile; a page
// of a list that is filtered by status may be short, also empty, and have a cursor.
func (rd *reader) Runs(ctx context.Context, q world.RunQuery) (page world.RunPage, err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	before, err := parseRunCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	if !q.Until.IsZero() && !q.Until.After(before.created) {
		before = rank{microsecond(q.Until), 0}
	}
	from := oldest
	if !q.Since.IsZero() && q.Since.After(from.created) { // the zero time is no bound, and not before all that a database can hold
		from = rank{microsecond(q.Since), 0}
	}
	l, err := rd.way(ctx, &q, before, from)
	if err != nil {
		return page, err
	}
	more := false
	if l.narrow {
		args := append([]any{before.created, before.key, from.created, from.key, rules.MostScanned}, l.edgeArgs...)
		if err := rd.read(ctx, l.edge, func(row pgx.Rows) error { more = true; return row.Scan(&from.created, &from.key) }, args...); err != nil {
			return page, err
		}
	}
	last, end := from, from // last: all down to it was looked at; end: of the page
	list, most := rules.RunPage{Query: &q}, rules.ListLimit(q.Limit)
	if !l.exact {
		most = rules.MostListed
	}
	each := func(row pgx.Rows) error {
		place, r, err := scanRun(row)
		if err != nil {
			return err
		}
		if list.Full() {
			more, last = true, end
			return nil
		}
		end, r.Merged = place, l.merged[place.key]
		return list.Add(&r)
	}
	args := append([]any{before.created, before.key, from.created, from.key, statusTexts(q.Stored()), most + 1}, l.args...)
	if err := rd.read(ctx, l.list, each, args...); err != nil {
		return world.RunPage{}, err
	}
	rd.counters.rowsRead.Add(int64(list.Looked))
	if page.Runs = list.Runs; more {
		page.Cursor, page.Reached = last.cursor(), at(&last.created)
	}
	page.Runs, err = tellHeirs(ctx, rd, page.Runs, q.Roots)
	return page, err
}

// microsecond is the first one that is not before t.
func microsecond(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

func (p rank) cursor() string {
	return "r" + strconv.FormatInt(p.created.UnixMicro(), 10) + "." + strconv.FormatInt(p.key, 10)
}

func parseRunCursor(c string) (rank, error) {
	if c == "" {
		return newest, nil
	}
	if rest, ok := strings.CutPrefix(c, "r"); ok {
		created, key, _ := strings.Cut(rest, ".")
		us, err := strconv.ParseInt(created, 10, 64)
		n, err2 := strconv.ParseInt(key, 10, 64)
		p := rank{time.UnixMicro(us).UTC(), n}
		if err == nil && err2 == nil && p.cursor() == c {
			return p, nil
		}
	}
	return rank{}, rules.BadRunCursor(c)
}

// statusTexts is null where all are wanted. What cannot be in the database is left out: it matches nothing.
func statusTexts(all []world.Status) []string {
	if len(all) == 0 {
		return nil
	}
	texts := make([]string, 0, len(all))
	for _, s := range all {
		if storable([]any{string(s)}) {
			texts = append(texts, string(s))
		}
	}
	return texts
}
