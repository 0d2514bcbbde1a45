package sqlite

// Segments of runs that go on for ever: where the newest begins, and what of those before it is not wanted any more.

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
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

// continued begins a new segment: open steps are over, and so are their tasks and all hooks that are not carried over.
func (g *group) continued(r *run, e *world.Event) error {
	if err := g.hooks.keep(r, e.Next.Hooks); err != nil {
		return err
	}
	if err := g.tasks.dropAll(r); err != nil {
		return err
	}
	if err := g.awaits.dropOld(r); err != nil {
		return err
	}
	return g.attributes.replace(r, e.Next.Attributes)
}

// beginSegment notes where the newest segment of a run begins, and what it does not want any more.
func (kp *keeper) beginSegment(r *run, e *world.Event, seq int64) error {
	if err := kp.tx.exec(continueRun, r.key, seq, e.Next.Trim); err != nil || e.Next.Trim == 0 {
		return err
	}
	return kp.tx.exec(insertTrim, r.key, e.Next.Trim)
}

// sweepSegments deletes what segments have said is not wanted any more.
func (w *World) sweepSegments(ctx context.Context) error {
	for {
		more, err := ask(ctx, w, func(g *group) (bool, error) { return g.keeper.trim() })
		if err != nil || !more {
			return err
		}
	}
}

// forgetTrims notes that nothing is left to be trimmed of a run that is gone.
func (kp *keeper) forgetTrims(run int64) error {
	return kp.tx.exec(deleteTrims, run, int64(math.MaxInt64))
}

// trim deletes what one transaction may. It reports whether there may be more.
func (kp *keeper) trim() (more bool, err error) {
	type trimmed struct {
		key, before int64
		id          string
		created     time.Time
	}
	var runs []trimmed
	if err := kp.tx.query(dueTrims, func(r row) (bool, error) {
		runs = append(runs, trimmed{r.int(0), r.int(1), r.text(2), r.time(3)})
		return true, nil
	}, int64(trimRuns)); err != nil {
		return false, err
	}
	left := int64(trimRows)
	for _, r := range runs {
		n, err := kp.trimRun(r.key, r.before, r.id, r.created, left)
		if err != nil {
			return false, err
		}
		if left -= n; left <= 0 {
			return true, nil
		}
		if err := kp.tx.exec(deleteTrims, r.key, r.before); err != nil {
			return false, err
		}
	}
	return len(runs) == trimRuns, nil
}

// trimRun deletes at most so many commits of a run, or batches of its streams. A log that cannot be read where the segment begins stays as it is, and
// so do the streams.
func (kp *keeper) trimRun(key, before int64, id string, created time.Time, limit int64) (n int64, err error) {
	var first int64
	var stands []int64
	ok := false
	if _, err := kp.tx.one(rowOf, func(r row) error {
		first = r.int(0)
		events, _, _, err := layout.ReadRow(id, created, first, int(r.int(1)), r.text(2), r.bytes(3), r.sum(4))
		if err == nil {
			stands, ok = world.StandsOf(events, before)
		} else if rules.Unreadable(err) {
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
	n, err = kp.tx.changed(trimLog, key, first, string(numbers), limit)
	kp.tx.count().rowsTrimmed += n
	if err != nil || n >= limit {
		return n, err
	}
	gone, err := kp.trimStreams(key, before, limit-n)
	return n + gone, err
}

// trimStreams deletes at most so many batches of a run's streams.
func (kp *keeper) trimStreams(key, before, limit int64) (n int64, err error) {
	if n, err = kp.tx.changed(trimAnswers, key, before, limit); err != nil || n >= limit {
		return n, err
	}
	if err := kp.tx.exec(markChunks, key, before); err != nil {
		return n, err
	}
	gone, err := kp.tx.changed(trimChunks, key, before, limit-n)
	return n + gone, err
}
