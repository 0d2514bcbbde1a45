// Events: reading a run's log.

package memory

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Events reads a page of a run's log, in whole commits; see [world.Log].
func (w *World) Events(ctx context.Context, id string, q world.EventQuery) (world.EventPage, error) {
	from, err := world.ParseCursor(q.Cursor)
	if err != nil {
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, err)
	}
	if err := w.enter(ctx); err != nil {
		return world.EventPage{}, err
	}
	r := w.runs[id]
	if r == nil {
		w.mu.Unlock()
		return world.EventPage{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	log, seq, trim := r.log[r.at(from+1):], r.seq, r.trim // records are never changed, only appended; trimming copies
	w.mu.Unlock()

	page := rules.EventPage{Run: id, Query: &q, From: from, EventPage: world.EventPage{Trimmed: trim, Cursor: world.Cursor(from)}}
	for i := range log {
		n := log[i].last - log[i].first + 1
		wants, err := page.Wants(log[i].first, n)
		if err != nil {
			return world.EventPage{}, err
		}
		if !wants {
			break
		}
		w.rowsRead.Add(1)
		events, _, err := r.read(&log[i])
		if err != nil {
			return world.EventPage{}, err
		}
		if err := page.Add(log[i].first, n, events); err != nil {
			return world.EventPage{}, err
		}
	}
	page.More = page.From < seq
	return page.EventPage, nil
}
