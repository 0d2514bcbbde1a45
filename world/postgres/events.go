package postgres

// Reading a run's log.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var readLog = load("read_log")

// Events reads a run's log from a cursor, in pages of whole commits; see [world.Log].
func (rd *reader) Events(ctx context.Context, id string, q world.EventQuery) (world.EventPage, error) {
	from, err := world.ParseCursor(q.Cursor)
	if err != nil {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, err)
	}
	window := rules.EventLimit(q.Limit) // commits that begin with one of so many events after the cursor
	if rules.Filtered(&q) {
		window = rules.MostFiltered
	}
	p := eventPage{EventPage: rules.EventPage{Run: id, Query: &q, From: from, EventPage: world.EventPage{Cursor: world.Cursor(from)}}}
	if err := rd.read(ctx, readLog, p.add, id, from, int64(window)); err != nil {
		return world.EventPage{}, err
	}
	if !p.known {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	if p.More && p.From == from { // or a reader would ask for ever
		return world.EventPage{}, &world.CorruptError{Run: id, Seq: from + 1, Err: errors.New("the log does not continue with it, but has events after it")}
	}
	rd.counters.rowsRead.Add(p.Rows)
	return p.EventPage.EventPage, nil
}

// eventPage collects a page.
type eventPage struct {
	rules.EventPage
	known bool // the run
}

// add looks at a row of read_log.
func (p *eventPage) add(row pgx.Rows) error {
	var (
		created time.Time
		more    bool
		seq, n  *int64
		format  *int
		head    *string
		body    []byte
		sum     *int32
	)
	if err := row.Scan(&created, &p.Trimmed, &more, &seq, &n, &format, &head, &body, &sum); err != nil {
		return err
	}
	if first := !p.known; first {
		p.known, p.More = true, more
	}
	if seq == nil {
		return nil
	}
	if wants, err := p.Wants(*seq, *n); err != nil || !wants {
		return err
	}
	events, _, _, err := layout.ReadRow(p.Run, created.UTC(), *seq, *format, *head, body, sumOf(sum))
	if err != nil {
		return err
	}
	return p.Add(*seq, *n, events)
}
