package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var rowAt = load("row_at")

// Outcome reports whether a commit was written; see [world.Log].
func (w *World) Outcome(ctx context.Context, c *world.Commit) (done world.Committed, err error) {
	err = w.read(ctx, func(conn *conn) error {
		done, err = outcome(conn, c)
		return err
	})
	if err != nil {
		return world.Committed{}, err
	}
	return done, nil
}

func outcome(conn *conn, c *world.Commit) (done world.Committed, err error) {
	lost := fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, world.ErrLeaseLost)
	missing := fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, world.ErrNotFound)
	var key int64
	var created time.Time
	found, err := conn.one(readRun, func(r row) error { key, created = r.int(0), r.time(1); return nil }, c.Run)
	if err != nil {
		return done, err
	}
	if !found {
		return done, missing
	}
	if c.Release != nil {
		if _, err := conn.one(countMail, func(r row) error { done.Mail = r.int(0) > 0; return nil }, key); err != nil {
			return done, err
		}
	}
	// The end of the log is read before the row: what is written in between is found, and not taken for another's row that spans the number.
	var last int64
	if _, err := conn.one(lastRow, func(r row) error { last = r.int(0) + r.int(1) - 1; return nil }, key); err != nil {
		return world.Committed{}, err
	}
	if !c.HasRow(last) {
		return done, releaseOutcome(conn, c, key, lost, missing)
	}
	var id [16]byte
	var events []world.Event
	found, err = conn.one(rowAt, func(r row) (err error) {
		events, id, _, err = layout.ReadRow(c.Run, created, c.First, int(r.int(0)), r.text(1), r.bytes(2), r.sum(3))
		return err
	}, key, c.First)
	switch {
	case err != nil:
		return world.Committed{}, err
	case !found && c.First > last:
		return world.Committed{}, missing
	case !found || id != c.ID:
		return world.Committed{}, lost
	}
	done.Events = c.Told(events)
	return done, nil
}

var releaseOf = load("release_of")

func releaseOutcome(conn *conn, c *world.Commit, key int64, lost, missing error) error {
	err := lost
	_, e := conn.one(releaseOf, func(r row) error {
		switch {
		case r.null(0) && r.int(1) == c.Claim && string(r.bytes(2)) == string(c.ID[:]):
			err = nil
		case r.text(0) == c.Worker && r.int(1) == c.Claim:
			err = missing
		}
		return nil
	}, key)
	if e != nil {
		return e
	}
	return err
}
