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
func (w *World) read(ctx context.Context, s *statement, each func(row pgx.Rows) error, args ...any) error {
	if !storable(args) {
		return nil // no row has such a text
	}
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, longestPause) {
		if w.isClosed() {
			return world.ErrClosed
		}
		w.counters.statements.Add(1)
		begun, err := w.readOnce(ctx, s, each, args)
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
func (w *World) readOnce(ctx context.Context, s *statement, each func(row pgx.Rows) error, args []any) (begun bool, err error) {
	rows, err := w.pool.Query(ctx, w.sql(s), args...)
	if err != nil {
		return false, w.failedRead(err)
	}
	defer rows.Close()
	for rows.Next() {
		begun = true
		if err := each(rows); err != nil {
			return true, err
		}
	}
	return begun, w.failedRead(rows.Err())
}

// failedRead says what a failure of the pool or the server means.
func (w *World) failedRead(err error) error {
	if err != nil && w.isClosed() {
		return world.ErrClosed
	}
	return w.classify(err)
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
