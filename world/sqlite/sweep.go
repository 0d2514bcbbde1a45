package sqlite

import (
	"context"
	"encoding/json"
)

// sweepBatch is how many runs a transaction deletes: others wait for no longer than that.
const sweepBatch = 50

var (
	sweepRuns    = load("sweep_runs")
	deleteRun    = load("delete_run")
	deleteLog    = load("delete_log")
	deleteChunks = load("delete_chunks")
)

// Sweep deletes runs whose retention is over, oldest end first; see [world.Admin].
func (w *World) Sweep(ctx context.Context, limit int) (swept int, err error) {
	for swept < limit {
		n := min(limit-swept, sweepBatch)
		found, err := ask(ctx, w, func(g *group) (int, error) { return g.keeper.sweep(n) })
		if err != nil {
			return swept, err
		}
		if swept += found; found < n {
			break
		}
	}
	if err := w.sweepDelivered(ctx); err != nil {
		return swept, err
	}
	if err := (messages{w}).sweepDedupes(ctx); err != nil {
		return swept, err
	}
	if err := (topics{w: w}).sweep(ctx); err != nil {
		return swept, err
	}
	if err := (topics{w: w}).sweepDeaf(ctx); err != nil {
		return swept, err
	}
	if err := w.sweepSegments(ctx); err != nil {
		return swept, err
	}
	if err := sweepApart(ctx, w); err != nil {
		return swept, err
	}
	if err := sweepBuckets(ctx, w); err != nil {
		return swept, err
	}
	return swept, w.mendSome(ctx)
}

// keeper deletes what is not wanted any more.
//
//   - A transaction of it is short: it deletes so much, and no more, and says whether there may be more.
//   - What is deleted of a run leaves nothing behind in any table, and in no count.
type keeper struct {
	tx         *txn
	runs       *runs
	totals     *totals
	attributes *attributes
}

func (kp *keeper) sweep(limit int) (int, error) {
	type ended struct {
		key                  int64
		id, workflow, status string
		attrs                map[string]json.RawMessage
	}
	var runs []ended
	if err := kp.tx.query(sweepRuns, func(r row) (bool, error) {
		e := ended{key: r.int(0), id: r.text(1), workflow: r.text(2), status: r.text(3)}
		_ = unmarshal(r.bytes(4), &e.attrs) // what is not JSON is nowhere else
		runs = append(runs, e)
		return true, nil
	}, kp.tx.now().UnixMicro(), int64(limit)); err != nil {
		return 0, err
	}
	for _, r := range runs {
		for _, s := range []*statement{
			deleteRun, deleteLog, deleteChunks, deleteRunMail, deleteRunHooks, deleteRunTasks, deleteAwaits, deleteWaiter, deleteEndedHooks, deleteRunListens, forgetRun,
		} {
			if err := kp.tx.exec(s, r.key); err != nil {
				return 0, err
			}
		}
		if err := kp.attributes.findBy(r.key, r.attrs, nil); err != nil {
			return 0, err
		}
		if err := kp.forgetTrims(r.key); err != nil {
			return 0, err
		}
		kp.totals.add(r.workflow, r.status, -1)
		kp.runs.forget(r.id)
	}
	return len(runs), nil
}
