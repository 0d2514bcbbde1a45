package postgres

// Segments of runs that go on for ever: where the newest begins, and what of those before it is not wanted any more.

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// A transaction of a sweeper looks at so many segments, and deletes at most so many rows.
const (
	trimSegments = 50
	trimRows     = 1000
)

var (
	continueRuns = load("continue_runs")
	insertTrims  = load("insert_trims")
	dueTrims     = load("due_trims")
	trimLog      = load("trim_log")
	deleteTrims  = load("delete_trims")
	sweepTrims   = load("sweep_trims")
	trimAnswers  = load("trim_answers")
	markChunks   = load("mark_chunks")
	trimChunks   = load("trim_chunks")
)

// segmentRow says where the newest segment of a run begins, and what it does not want any more.
type segmentRow struct{ run, seq, trim int64 }

// segment puts on the sheet which segment the events of a commit have begun, if any; the first of them has a number.
func (d *draft) segment(r *run, first int64, events []world.Event) {
	row := segmentRow{run: r.key}
	for i := range events {
		if e := &events[i]; e.Type == world.RunContinued {
			row.seq, row.trim = first+int64(i), max(row.trim, e.Next.Trim)
		}
	}
	if row.seq > 0 {
		d.sheet.segments = append(d.sheet.segments, row)
	}
}

// writeSegments adds what continuations write, but for the log, tasks, hooks and attributes.
func (b *script) writeSegments(rows []segmentRow) {
	runs := func() []int64 { return column(rows, func(r *segmentRow) int64 { return r.run }) }
	trims, due := column(rows, func(r *segmentRow) int64 { return r.trim }), 0
	for _, trim := range trims {
		if trim > 0 {
			due++
		}
	}
	b.put(len(rows), continueRuns, func() []any {
		return []any{runs(), column(rows, func(r *segmentRow) int64 { return r.seq }), trims}
	})
	b.put(due, insertTrims, func() []any { return []any{runs(), trims} })
}

// sweepSegments deletes what segments have said is not wanted any more.
func (k *keeper) sweepSegments(ctx context.Context) error {
	for more := true; more; {
		var deleted int64
		if err := k.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			deleted, more, err = k.trim(ctx, k.in(tx))
			return err
		}); err != nil {
			return err
		}
		k.counters.rowsTrimmed.Add(deleted)
	}
	return nil
}

// trimmed is a segment before which nothing is wanted any more. Its run may be gone.
type trimmed struct {
	run, before int64
	id          *string
	created     *time.Time
	first       *int64
	format      *int
	head        *string
	body        []byte
	sum         *int32
}

// trim deletes what one transaction may. It reports how many commits, and whether there may be more.
func (k *keeper) trim(ctx context.Context, tx txn) (deleted int64, more bool, err error) {
	var due []trimmed
	rows, left := 0, int64(trimRows)
	if err := tx.each(ctx, dueTrims, func(row scanner) error {
		var t trimmed
		err := row.Scan(&t.run, &t.before, &t.id, &t.created, &t.first, &t.format, &t.head, &t.body, &t.sum)
		if n := len(due); n > 0 && due[n-1].run == t.run { // what is before the later is before both
			due[n-1] = t
		} else {
			due = append(due, t)
		}
		rows++
		return err
	}, trimSegments); err != nil {
		return 0, false, err
	}
	for i := range due {
		t := &due[i]
		stands, ok, err := t.stands()
		if err != nil {
			return 0, false, err
		}
		if ok {
			n, err := tx.exec(ctx, trimLog, t.run, *t.first, append([]int64{}, stands...), left)
			if err != nil {
				return 0, false, err
			}
			deleted += n
			if left -= n; left > 0 {
				n, err = t.streams(ctx, tx, left)
				left -= n
			}
			if left <= 0 || err != nil {
				return deleted, true, err
			}
		}
		if _, err := tx.exec(ctx, deleteTrims, t.run, t.before); err != nil {
			return 0, false, err
		}
	}
	return deleted, rows == trimSegments, nil
}

// streams deletes at most so many batches of the run's streams, and tells how many.
func (t *trimmed) streams(ctx context.Context, tx txn, limit int64) (n int64, err error) {
	if n, err = tx.exec(ctx, trimAnswers, t.run, t.before, limit); err != nil || n >= limit {
		return n, err
	}
	if _, err := tx.exec(ctx, markChunks, t.run, t.before); err != nil {
		return n, err
	}
	gone, err := tx.exec(ctx, trimChunks, t.run, t.before, limit-n)
	return n + gone, err
}

// stands lists what the segment stands on. A log that cannot be read where it begins stays as it is.
func (t *trimmed) stands() (stands []int64, ok bool, err error) {
	if t.id == nil || t.first == nil {
		return nil, false, nil
	}
	events, _, _, err := layout.ReadRow(*t.id, t.created.UTC(), *t.first, *t.format, *t.head, t.body, sumOf(t.sum))
	switch {
	case err == nil:
		stands, ok = world.StandsOf(events, t.before)
	case errors.Is(err, world.ErrCorrupt), errors.Is(err, world.ErrFormat):
		err = nil
	}
	return stands, ok, err
}
