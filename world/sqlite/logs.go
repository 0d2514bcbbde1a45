package sqlite

import (
	"fmt"
	"unsafe"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertLog = load("insert_log")
	lastRow   = load("last_row")
	lastHead  = load("last_head")
)

// logs write the logs of runs, and read their ends.
//
//   - run.last is the number of the last event, unless it is not read yet: it changes with each row, and nowhere else.
//   - head and body are those of the row that was encoded last. They are never nil, which would be null.
type logs struct {
	tx         *txn
	head, body []byte
}

func (l *logs) init(tx *txn) {
	l.tx, l.head, l.body = tx, make([]byte, 0, 4096), make([]byte, 0, 4096)
}

// encode makes a row of events. It is good until the next one is made.
func (l *logs) encode(r *run, id [16]byte, build string, events []world.Event) (front, body []byte, err error) {
	l.head, l.body, err = layout.AppendRow(l.head[:0], l.body[:0], id, build, r.created, events)
	return l.head, l.body, err
}

// text shows bytes as a string, for as long as they are not changed: the driver copies what it binds before it returns.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// append writes one row of the log.
func (l *logs) append(r *run, id [16]byte, build string, first int64, events []world.Event) error {
	front, body, err := l.encode(r, id, build, events)
	if err != nil {
		return fmt.Errorf("run %s: event %d: %w", r.id, first, err)
	}
	if r.boxed == nil {
		r.boxed = r.key
	}
	sum := layout.RowSum(r.id, first, world.LogFormat, front, body)
	if err := l.tx.exec(insertLog, r.boxed, first, int64(len(events)), int64(world.LogFormat), text(front), body, int64(sum.Value())); err != nil {
		return err
	}
	if err := l.tx.hold(r.id, r.origin, events...); err != nil {
		return err
	}
	r.last = first + int64(len(events)) - 1
	l.tx.count().rowsWritten++
	l.tx.grow(len(front) + len(body))
	l.tx.notice(world.NoticeLog, r.id)
	return nil
}

// seq returns the number of the run's last event.
func (l *logs) seq(r *run) (int64, error) {
	if r.last >= 0 {
		return r.last, nil
	}
	var last int64
	if _, err := l.tx.one(lastRow, func(row row) error { last = row.int(0) + row.int(1) - 1; return nil }, r.key); err != nil {
		return 0, err
	}
	r.last = last
	return last, nil
}

// lastKnown is what is known of the last event of a run whose log cannot be read there: its number. It serves who ends the run, or lets it rest.
func (l *logs) lastKnown(r *run) (last world.Event, err error) {
	last, err = l.lastEvent(r)
	if rules.Unreadable(err) {
		r.last = -1
		last = world.Event{}
		last.Seq, err = l.seq(r)
	}
	return last, err
}

// lastEvent reads the last event of a run.
func (l *logs) lastEvent(r *run) (last world.Event, err error) {
	_, err = l.tx.one(lastHead, func(row row) error {
		events, _, _, err := layout.ReadRow(r.id, r.created, row.int(0), int(row.int(2)), row.text(3), row.bytes(4), row.sum(5))
		if err == nil {
			last = events[len(events)-1]
		}
		return err
	}, r.key)
	l.tx.count().rowsRead++
	return last, err
}
