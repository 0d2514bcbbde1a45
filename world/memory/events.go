// Events: reading a run's log.

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// pageLimit is the default and the most of an event page.
const pageLimit = 1000

// Events reads a run's log from a cursor, in pages of whole commits; see [world.Log].
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

	limit := pageLimit
	if q.Limit > 0 {
		limit = min(q.Limit, pageLimit)
	}
	page := world.EventPage{Trimmed: trim}
	bytes := 0
	for i := 0; i < len(log) && len(page.Events) < limit && bytes < world.PageBytes; i++ {
		w.rowsRead.Add(1)
		events, _, err := r.read(&log[i])
		if err != nil {
			return world.EventPage{}, err
		}
		for _, e := range events[max(0, from+1-log[i].first):] {
			from = e.Seq
			if q.CorrelationID != "" && e.ID != q.CorrelationID || len(q.Types) > 0 && !slices.Contains(q.Types, e.Type) {
				continue
			}
			page.Events = append(page.Events, e)
			bytes += e.Size()
		}
	}
	page.Cursor, page.More = world.Cursor(from), from < seq
	return page, nil
}
