// Segments of runs that go on for ever: where the newest begins, and what of those before it is not wanted any more.

package memory

import (
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/stepwell/stepwell/world"
)

// trimBatch is how many commits are deleted under one lock.
const trimBatch = 1000

// continued begins a new segment, with the event of a number: open steps are over, and so are their tasks and all hooks that are not carried over.
func (w *World) continued(r *run, e *world.Event, seq int64) {
	r.segment = seq
	if e.Next.Trim > r.trim {
		r.trim = e.Next.Trim
		w.trims[r] = struct{}{}
	}
	if e.Next.Version != 0 {
		r.version = e.Next.Version
	}
	r.attrs = maps.Clone(e.Next.Attributes)
	for _, step := range slices.Sorted(maps.Keys(r.tasks)) {
		w.dropTask(r, step, w.limits.news)
	}
	for id := range r.hooks {
		if !slices.Contains(e.Next.Hooks, id) {
			w.dispose(r, id)
		}
	}
}

// sweepSegments deletes what segments have said is not wanted any more.
func (w *World) sweepSegments(ctx context.Context) error {
	for {
		if err := w.enter(ctx); err != nil {
			return err
		}
		left := trimBatch
		for r := range w.trims {
			if left = w.trim(r, left); left == 0 {
				break
			}
			delete(w.trims, r)
		}
		w.mu.Unlock()
		if left > 0 {
			return nil
		}
	}
}

// trim deletes at most so many commits of a run and returns how many more it might have. Who reads the log meanwhile keeps the records that it has.
func (w *World) trim(r *run, limit int) (left int) {
	end := r.at(r.trim)
	events, _, err := r.read(&r.log[end])
	if err != nil {
		return limit
	}
	stands, ok := world.StandsOf(events, r.trim)
	if !ok || end == 0 {
		return limit
	}
	log := r.log[:1:1]
	for i := 1; i < end; i++ {
		rec := &r.log[i]
		n := sort.Search(len(stands), func(k int) bool { return stands[k] >= rec.first })
		if limit == 0 || n < len(stands) && stands[n] <= rec.last {
			log = append(log, *rec)
			continue
		}
		limit--
		w.counters.RowsTrimmed++
	}
	r.log = append(log, r.log[end:]...)
	r.trimStreams()
	return limit
}
