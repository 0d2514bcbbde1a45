package postgres

// Reading: one statement on a connection of the pool.

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// A server that restarts is waited for, with growing pauses, for this long.
const (
	readPatience = 10 * time.Second
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// read runs a statement and calls each for each row; an error of each ends it and is returned as it is. A connection that turns out to be broken
// before the first row came is replaced.
func (db *database) read(ctx context.Context, s *statement, each func(row pgx.Rows) error, args ...any) error {
	if !storable(args) {
		return nil // no row has such a text
	}
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, longestPause) {
		if db.isClosed() {
			return world.ErrClosed
		}
		db.counters.statements.Add(1)
		begun, err := db.readOnce(ctx, s, each, args)
		if err == nil || begun || !restarting(err) || time.Since(began) > readPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// readOnce tells whether a row was given to each.
func (db *database) readOnce(ctx context.Context, s *statement, each func(row pgx.Rows) error, args []any) (begun bool, err error) {
	if err := db.mayAsk(ctx); err != nil {
		return false, err
	}
	rows, end, err := db.query(ctx, s, args)
	defer end()
	if err != nil {
		return false, db.failedRead(err)
	}
	defer rows.Close()
	for rows.Next() {
		begun = true
		if err := each(rows); err != nil {
			return true, err
		}
	}
	return begun, db.failedRead(rows.Err())
}

// query asks on a connection of the pool, in one round trip. Behind a pooler, where sessions are not ours, the server is told not to
// compile the statement: it would, where it has no statistics of a table and takes it for large, and be busy with that for seconds.
func (db *database) query(ctx context.Context, s *statement, args []any) (rows pgx.Rows, end func(), err error) {
	if !db.pooled {
		rows, err = db.pool.Query(ctx, db.sql(s), args...)
		return rows, func() {}, err
	}
	var q pgx.Batch
	q.Queue(db.sql(interpreted))
	q.Queue(db.sql(s), args...)
	b := db.pool.SendBatch(ctx, &q)
	end = func() { _ = b.Close() } // the rows have told what failed
	if _, err := b.Exec(); err != nil {
		return nil, end, err
	}
	rows, err = b.Query()
	return rows, end, err
}

var interpreted = load("interpreted")

// failedRead says what a failure of the pool or the server means.
func (db *database) failedRead(err error) error {
	if err != nil && db.isClosed() {
		return world.ErrClosed
	}
	return db.classify(err)
}

// restarting reports whether the server, or the connection to it, went away; another attempt may find it back.
func restarting(err error) bool {
	if !errors.Is(err, world.ErrStorage) {
		return false
	}
	switch sqlState(err) {
	case "", codeShutdown, codeCrash, codeStarting, codeTooMany:
		return true
	}
	return false
}

// storable reports whether texts can be in the database at all: they are UTF-8 without NUL.
func storable(args []any) bool {
	for _, a := range args {
		if text, ok := a.(string); ok && (strings.ContainsRune(text, 0) || !utf8.ValidString(text)) {
			return false
		}
	}
	return true
}

// at is a time of the database, zero where it has none.
func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return world.Within(t.UTC())
}

// textOf is a text of the database, "" where it has none.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
