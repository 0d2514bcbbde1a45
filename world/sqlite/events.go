package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	readRun = load("read_run")
	readLog = load("read_log")
)

// Events reads a run's log from a cursor, in pages of whole commits; see [world.Log].
func (w *World) Events(ctx context.Context, id string, q world.EventQuery) (page world.EventPage, err error) {
	from, err := world.ParseCursor(q.Cursor)
	if err != nil {
		return page, fmt.Errorf("run %s: %w", id, err)
	}
	err = w.read(ctx, func(c *conn) error {
		page, err = w.events(c, id, from, &q)
		return err
	})
	return page, err
}

func (w *World) events(c *conn, id string, from int64, q *world.EventQuery) (world.EventPage, error) {
	page := rules.EventPage{Run: id, Query: q, From: from, EventPage: world.EventPage{Cursor: world.Cursor(from)}}
	var key int64
	var created time.Time
	found, err := c.one(readRun, func(r row) error { key, created, page.Trimmed = r.int(0), r.time(1), r.int(2); return nil }, id)
	if err != nil {
		return world.EventPage{}, err
	}
	if !found {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
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
		events, _, _, err := world.ReadRow(id, created, seq, int(r.int(2)), r.text(3), r.bytes(4), r.sum(6))
		if err == nil {
			err = page.Add(seq, n, events)
		}
		return err == nil, err
	}, key, from+1, int64(most)+2) // the one before the cursor, a page, and one to tell that there is more
	w.counters.rowsRead.Add(page.Rows)
	if err != nil {
		return world.EventPage{}, err
	}
	return page.EventPage, nil
}
