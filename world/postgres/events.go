package postgres

// Reading a run's log.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// A page has at most, and by default, so many events; a filtered one looks at ten times as many.
const (
	pageLimit    = 1000
	mostFiltered = 10 * pageLimit
)

var readLog = load("read_log")

// Events reads a run's log from a cursor, in pages of whole commits; see [world.Log].
func (w *World) Events(ctx context.Context, id string, q world.EventQuery) (world.EventPage, error) {
	from, err := world.ParseCursor(q.Cursor)
	if err != nil {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, err)
	}
	limit := pageLimit
	if q.Limit > 0 {
		limit = min(q.Limit, pageLimit)
	}
	window := int64(limit) // commits that begin with one of so many events after the cursor
	if q.CorrelationID != "" || len(q.Types) > 0 {
		window = mostFiltered
	}
	p := eventPage{run: id, q: &q, limit: limit, from: from}
	if err := w.read(ctx, readLog, p.add, id, from, window); err != nil {
		return world.EventPage{}, err
	}
	if !p.known {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	if p.page.More && p.from == from { // or a reader would ask for ever
		return world.EventPage{}, &world.CorruptError{Run: id, Seq: from + 1, Err: errors.New("the log does not go on with it, and has events behind it")}
	}
	w.counters.rowsRead.Add(p.rows)
	p.page.Cursor = world.Cursor(p.from)
	return p.page, nil
}

// eventPage collects a page.
type eventPage struct {
	run   string
	q     *world.EventQuery
	limit int
	page  world.EventPage
	known bool
	from  int64 // the last event that was looked at
	rows  int64
	bytes int
}

// add looks at a row of read_log.
func (p *eventPage) add(row pgx.Rows) error {
	var (
		created   time.Time
		more      bool
		seq, n    *int64
		format    *int
		head      *string
		body      []byte
		sum       *int32
		from, run = p.from, p.run
	)
	if err := row.Scan(&created, &p.page.Trimmed, &more, &seq, &n, &format, &head, &body, &sum); err != nil {
		return err
	}
	first := !p.known
	if p.known = true; first {
		p.page.More = more
	}
	if seq == nil {
		return nil
	}
	if *seq < 1 || *n < 1 || *seq > math.MaxInt64-*n {
		return &world.CorruptError{Run: run, Seq: from + 1, Err: fmt.Errorf("a row has %d events from number %d on", *n, *seq)}
	}
	if *seq+*n-1 <= from {
		return nil
	}
	if len(p.page.Events) >= p.limit || p.bytes >= world.PageBytes {
		p.page.More = true
		return nil
	}
	events, _, _, err := world.ReadRow(run, created.UTC(), *seq, *format, *head, body, sumOf(sum))
	if err != nil {
		return err
	}
	if *seq > from+1 && from > 0 && *seq > p.page.Trimmed || int64(len(events)) != *n {
		return &world.CorruptError{Run: run, Seq: from + 1, Err: fmt.Errorf("the log goes on with event %d and %d events of %d", *seq, len(events), *n)}
	}
	p.rows++
	for i := range events {
		if e := &events[i]; e.Seq > from && wants(p.q, e) {
			p.page.Events = append(p.page.Events, *e)
			p.bytes += e.Size()
		}
	}
	p.from = *seq + *n - 1
	return nil
}

// wants reports whether an event passes the filters.
func wants(q *world.EventQuery, e *world.Event) bool {
	return (q.CorrelationID == "" || e.ID == q.CorrelationID) && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type))
}
