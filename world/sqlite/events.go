package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	readRun = load("read_run")
	readLog = load("read_log")
)

// Events reads a page of a run's log, in whole commits; see [world.Log].
func (w *World) Events(ctx context.Context, id string, q world.EventQuery) (page world.EventPage, err error) {
	from, err := world.ParseCursor(q.Cursor)
	if err != nil {
		return page, fmt.Errorf("run %s: %w", id, err)
	}
	err = w.read(ctx, func(c *conn) error {
		var rows int64
		page, rows, err = readEvents(c, id, from, &q)
		w.counters.rowsRead.Add(rows)
		return err
	})
	return page, err
}

// readEvents reads a page, and tells how many rows of the log it comes from.
func readEvents(c *conn, id string, from int64, q *world.EventQuery) (out world.EventPage, rows int64, err error) {
	page := rules.EventPage{Run: id, Query: q, From: from, EventPage: world.EventPage{Cursor: world.Cursor(from)}}
	var key int64
	var created time.Time
	found, err := c.one(readRun, func(r row) error { key, created, page.Trimmed = r.int(0), r.time(1), r.int(2); return nil }, id)
	if err != nil {
		return out, 0, err
	}
	if !found {
		return out, 0, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	most := rules.EventLimit(q.Limit)
	if rules.Filtered(q) {
		most = rules.MostFiltered
	}
	err = c.query(readLog, func(r row) (bool, error) {
		seq, n := r.int(0), r.int(1)
		page.Trimmed = r.int(5) // as of this statement: what is gone is told
		if wants, err := page.Wants(seq, n); err != nil || !wants {
			return !page.More, err
		}
		events, _, _, err := layout.ReadRow(id, created, seq, int(r.int(2)), r.text(3), r.bytes(4), r.sum(6))
		if err == nil {
			err = page.Add(seq, n, events)
		}
		return err == nil, err
	}, key, from+1, int64(most)+2) // the one before the cursor, a page, and one to tell that there is more
	if err != nil {
		return out, page.Rows, err
	}
	return page.EventPage, page.Rows, nil
}
