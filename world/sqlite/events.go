package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// pageLimit is the default and the most of an event page.
const pageLimit = 1000

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

func (w *World) events(c *conn, id string, from int64, q *world.EventQuery) (page world.EventPage, err error) {
	var key int64
	var created time.Time
	found, err := c.one(readRun, func(r row) error { key, created, page.Trimmed = r.int(0), r.time(1), r.int(2); return nil }, id)
	if err != nil {
		return page, err
	}
	if !found {
		return page, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	limit := pageLimit
	if q.Limit > 0 {
		limit = min(q.Limit, pageLimit)
	}
	rowLimit := int64(limit) + 2 // the one before the cursor, a page, and one to tell that there is more
	if q.CorrelationID != "" || len(q.Types) > 0 {
		rowLimit = 10*pageLimit + 2
	}
	rows, bytes, budget := int64(0), 0, 10*pageLimit // a filtered page looks at a bounded number of events
	err = c.query(readLog, func(r row) (bool, error) {
		seq, n := r.int(0), r.int(1)
		page.Trimmed = r.int(5) // as of this statement: what is gone is told
		if seq < 1 || n < 1 || seq > math.MaxInt64-n {
			return false, &world.CorruptError{Run: id, Seq: from + 1, Err: fmt.Errorf("a row has %d events from number %d on", n, seq)}
		}
		if seq+n-1 <= from {
			return true, nil
		}
		if len(page.Events) >= limit || bytes >= world.PageBytes || budget <= 0 {
			page.More = true
			return false, nil
		}
		events, _, _, err := world.ReadRow(id, created, seq, int(r.int(2)), r.text(3), r.bytes(4), r.sum(6))
		if err != nil {
			return false, err
		}
		if seq > from+1 && from > 0 && seq > page.Trimmed || int64(len(events)) != n {
			return false, &world.CorruptError{Run: id, Seq: from + 1, Err: fmt.Errorf("the log goes on with event %d and %d events of %d", seq, len(events), n)}
		}
		rows++
		budget -= len(events)
		for i := range events {
			if e := &events[i]; e.Seq > from && wants(q, e) {
				page.Events = append(page.Events, *e)
				bytes += e.Size()
			}
		}
		from = seq + n - 1
		return true, nil
	}, key, from+1, rowLimit)
	w.counters.rowsRead.Add(rows)
	if err != nil {
		return world.EventPage{}, err
	}
	page.Cursor = world.Cursor(from)
	return page, nil
}

// wants reports whether an event passes the filters.
func wants(q *world.EventQuery, e *world.Event) bool {
	return (q.CorrelationID == "" || e.ID == q.CorrelationID) && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type))
}
