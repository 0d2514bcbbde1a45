package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	rowAt     = load("row_at")
	releaseOf = load("release_of")
)

// Outcome reports whether a commit was written; see [world.Log].
func (w *World) Outcome(ctx context.Context, c *world.Commit) (done world.Committed, err error) {
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	missing := fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, world.ErrNotFound)
	if !storable([]any{c.Run}) {
		return done, missing
	}
	var r *run
	if err := w.read(ctx, lookRun, func(row pgx.Rows) (err error) { r, err = scanLook(row, c.Run); return err }, c.Run); err != nil {
		return done, err
	}
	if r == nil {
		return done, missing
	}
	if c.HasRow(r.last) {
		done, err = w.rowOutcome(ctx, c, r, missing)
	} else {
		err = w.releaseOutcome(ctx, c, r, missing)
	}
	if err != nil {
		return world.Committed{}, err
	}
	if c.Release != nil {
		if err := w.read(ctx, mailWaits, func(pgx.Rows) error { done.Mail = true; return nil }, []int64{r.key}); err != nil {
			return world.Committed{}, err
		}
	}
	if w.unknown.has(c) {
		w.crew.learn(w.crew.worker(c.Worker), r)
	}
	return done, nil
}

// rowOutcome compares the row at the commit's number with it.
func (w *World) rowOutcome(ctx context.Context, c *world.Commit, r *run, missing error) (done world.Committed, err error) {
	var id [16]byte
	var events []world.Event
	found := false
	if err := w.read(ctx, rowAt, func(row pgx.Rows) (err error) {
		var format int
		var head string
		var body []byte
		var sum *int32
		if err := row.Scan(&format, &head, &body, &sum); err != nil {
			return err
		}
		found = true
		events, id, _, err = layout.ReadRow(c.Run, r.created, c.First, format, head, body, sumOf(sum))
		return err
	}, r.key, c.First); err != nil {
		return done, err
	}
	switch {
	case !found && c.First > r.last:
		return done, missing
	case !found || id != c.ID:
		return done, lost(c)
	}
	done.Events = c.Told(events)
	return done, nil
}

// releaseOutcome knows a release without events by the queue.
func (w *World) releaseOutcome(ctx context.Context, c *world.Commit, r *run, missing error) error {
	outcome := lost(c)
	err := w.read(ctx, releaseOf, func(row pgx.Rows) error {
		var owner *string
		var claim int64
		var released []byte
		if err := row.Scan(&owner, &claim, &released); err != nil {
			return err
		}
		switch {
		case owner == nil && claim == c.Claim && string(released) == string(c.ID[:]):
			outcome = nil
		case textOf(owner) == c.Worker && claim == c.Claim:
			outcome = missing
		}
		return nil
	}, r.key)
	if err != nil {
		return err
	}
	return outcome
}
