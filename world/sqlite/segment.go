package sqlite

// Segments of runs that go on for ever: where the newest begins, and what of those before it is not wanted any more.

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A transaction of the sweeper looks at so many runs, and deletes at most so many rows: others wait for no longer than that.
const (
	trimRuns = 50
	trimRows = 1000
)

var (
	continueRun = load("continue_run")
	insertTrim  = load("insert_trim")
	dueTrims    = load("due_trims")
	rowOf       = load("row_of")
	trimLog     = load("trim_log")
	deleteTrims = load("delete_trims")
	trimAnswers = load("trim_answers")
	markChunks  = load("mark_chunks")
	trimChunks  = load("trim_chunks")
)

// beginSegment notes where the newest segment of a run begins, and what it does not want any more.
func (g *group) beginSegment(r *run, e *world.Event, seq int64) error {
	if err := g.tx.exec(continueRun, r.key, seq, e.Next.Trim); err != nil || e.Next.Trim == 0 {
		return err
	}
	return g.tx.exec(insertTrim, r.key, e.Next.Trim)
}

// sweepSegments deletes what segments have said is not wanted any more.
func (w *World) sweepSegments(ctx context.Context) error {
	for {
		more, err := ask(ctx, w, func(g *group) (bool, error) { return g.trim() })
		if err != nil || !more {
			return err
		}
	}
}

// forgetTrims notes that nothing is left to be trimmed of a run that is gone.
func (g *group) forgetTrims(run int64) error {
	return g.tx.exec(deleteTrims, run, int64(math.MaxInt64))
}

// trim deletes what one transaction may. It reports whether there may be more.
func (g *group) trim() (more bool, err error) {
	type trimmed struct {
		key, before int64
		id          string
		created     time.Time
	}
	var runs []trimmed
	if err := g.tx.query(dueTrims, func(r row) (bool, error) {
		runs = append(runs, trimmed{r.int(0), r.int(1), r.text(2), r.time(3)})
		return true, nil
	}, int64(trimRuns)); err != nil {
		return false, err
	}
	left := int64(trimRows)
	for _, r := range runs {
		n, err := g.trimRun(r.key, r.before, r.id, r.created, left)
		if err != nil {
			return false, err
		}
		if left -= n; left <= 0 {
			return true, nil
		}
		if err := g.tx.exec(deleteTrims, r.key, r.before); err != nil {
			return false, err
		}
	}
	return len(runs) == trimRuns, nil
}

// trimRun deletes at most so many commits of a run, or batches of its streams. A log that cannot be read where the segment begins stays as it is, and
// so do the streams.
func (g *group) trimRun(key, before int64, id string, created time.Time, limit int64) (n int64, err error) {
	var first int64
	var stands []int64
	ok := false
	if _, err := g.tx.one(rowOf, func(r row) error {
		first = r.int(0)
		events, _, _, err := world.ReadRow(id, created, first, int(r.int(1)), r.text(2), r.bytes(3), r.sum(4))
		if err == nil {
			stands, ok = world.StandsOf(events, before)
		} else if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
			err = nil
		}
		return err
	}, key, before); err != nil || !ok {
		return 0, err
	}
	numbers, err := json.Marshal(append([]int64{}, stands...))
	if err != nil {
		return 0, err
	}
	n, err = g.tx.changed(trimLog, key, first, string(numbers), limit)
	g.tx.count().rowsTrimmed += n
	if err != nil || n >= limit {
		return n, err
	}
	gone, err := g.trimStreams(key, before, limit-n)
	return n + gone, err
}

// trimStreams deletes at most so many batches of a run's streams.
func (g *group) trimStreams(key, before, limit int64) (n int64, err error) {
	if n, err = g.tx.changed(trimAnswers, key, before, limit); err != nil || n >= limit {
		return n, err
	}
	if err := g.tx.exec(markChunks, key, before); err != nil {
		return n, err
	}
	gone, err := g.tx.changed(trimChunks, key, before, limit-n)
	return n + gone, err
}
