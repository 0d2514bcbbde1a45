package postgres

// Housekeeping: runs whose retention ended go, and what hangs on them; so does mail that came too late, totals are summed up, and what an owner has that is not there is freed.
// Any number of processes may sweep at once: each takes what the others have not.

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// sweepBatch is how many runs a transaction deletes, and lateMail how many deliveries one Sweep looks at.
const (
	sweepBatch = 100
	lateMail   = 10_000
	lateKnown  = 1_000 // runs of which it looks at what is known of deliveries
	lateDeaf   = 1_000 // waits that listen that it looks at
)

var (
	forgetDedupes   = load("forget_dedupes")
	sweepRuns       = load("sweep_runs")
	sweepMail       = load("sweep_mail")
	sweepLateKnown  = load("sweep_known")
	sweepLateMail   = load("sweep_late_mail")
	sweepDeaf       = load("sweep_deaf")
	sweepLog        = load("sweep_log")
	sweepChunks     = load("sweep_chunks")
	sweepHooks      = load("sweep_hooks")
	sweepTasks      = load("sweep_tasks")
	sweepTargets    = load("sweep_targets")
	sweepWaiters    = load("sweep_waiters")
	sweepTotals     = load("sweep_totals")
	sweepDelivered  = load("sweep_delivered")
	sweepEndedHooks = load("sweep_ended_hooks")
	markedRuns      = load("marked_runs")
	forget          = load("forget")
)

// keeper keeps house: it deletes what is not wanted any more, counts, and mends what damage has left.
//
//   - It owns no row: what it does, another process may do at the same time, or go on with.
//   - looked is the delivery that was looked at last for being late, and heard the run whose known deliveries were; whoever begins anew looks at more than it must.
//     So is listened the last run whose waits that listen were looked at.
type keeper struct {
	*database
	reader   *reader
	burials  *burials
	topics   *topics
	looked   atomic.Int64
	heard    atomic.Int64
	listened atomic.Int64
}

func (k *keeper) init(r *reader, b *burials, t *topics) {
	k.database, k.reader, k.burials, k.topics = r.database, r, b, t
}

// Sweep deletes runs whose retention ended, those that ended first before others; see [world.Admin].
func (k *keeper) Sweep(ctx context.Context, limit int) (swept int, err error) {
	for swept < limit {
		n := min(limit-swept, sweepBatch)
		var found int
		if err := k.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			found, err = k.sweep(ctx, tx, n)
			return err
		}); err != nil {
			return swept, err
		}
		if swept += found; found < n {
			break
		}
	}
	if err := k.sweepSegments(ctx); err != nil {
		return swept, err
	}
	if err := k.sweepLate(ctx); err != nil {
		return swept, err
	}
	if err := k.sweepKnown(ctx); err != nil {
		return swept, err
	}
	if err := k.batch(ctx, func(q *pgx.Batch) { q.Queue(k.sql(forgetDedupes)); q.Queue(k.sql(dropBuckets)) }); err != nil {
		return swept, err
	}
	if err := k.topics.sweep(ctx); err != nil {
		return swept, err
	}
	if err := sweepOrphans(ctx, k); err != nil {
		return swept, err
	}
	if err := k.sumTotals(ctx); err != nil {
		return swept, err
	}
	if err := k.mendTotals(ctx); err != nil {
		return swept, err
	}
	_, err = k.buryLost(ctx)
	return swept, err
}

// forgetBatch is of how many deliveries one look at their runs is made.
const forgetBatch = 100

// sweepKnown forgets deliveries that need not be known any more.
func (k *keeper) sweepKnown(ctx context.Context) error {
	for {
		before := k.now().Add(-k.opt.KeepDeliveries)
		var runs []int64
		if err := k.read(ctx, markedRuns, func(row pgx.Rows) error {
			var run int64
			err := row.Scan(&run)
			runs = append(runs, run)
			return err
		}, before, forgetBatch); err != nil || len(runs) == 0 {
			return err
		}
		for _, run := range runs {
			k.counters.statements.Add(1)
			if err := k.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, k.sql(forget), run, before, world.DeliveriesKept)
				return err
			}); err != nil {
				return err
			}
		}
	}
}

// sweep deletes some runs, in two round trips: the runs, then all that hangs on them.
func (k *keeper) sweep(ctx context.Context, tx pgx.Tx, limit int) (int, error) {
	var keys, changes []int64
	var ids []string
	var workflows, statuses []string
	var gone draft // of what lists found them by
	rows, err := tx.Query(ctx, k.sql(sweepRuns), limit)
	if err != nil {
		return 0, err
	}
	var key int64
	var id, workflow, status string
	var attributes *string
	var created time.Time
	if _, err := pgx.ForEachRow(rows, []any{&key, &workflow, &status, &attributes, &created, &id}, func() error {
		var attrs map[string]json.RawMessage
		_ = unmarshal("attributes", attributes, &attrs) // what is not JSON is nowhere else
		gone.findBy(&run{key: key, created: created}, attrs, nil)
		keys, workflows, statuses, changes = append(keys, key), append(workflows, workflow), append(statuses, status), append(changes, -1)
		ids = append(ids, id)
		return nil
	}); err != nil || len(keys) == 0 {
		return 0, err
	}
	var b pgx.Batch
	for _, s := range []*statement{sweepTrims, sweepLog, sweepChunks, sweepMail, sweepHooks, sweepDelivered, sweepEndedHooks, sweepTasks, sweepTargets, sweepWaiters} {
		b.Queue(k.sql(s), keys)
	}
	if lost := gone.sheet.lostBy; len(lost) > 0 {
		b.Queue(k.sql(deleteAttributes), foundArgs(lost)...)
	}
	b.Queue(k.sql(sweepTotals), workflows, statuses, changes)
	k.counters.statements.Add(int64(1 + b.Len()))
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	return len(keys), sweepHeld(ctx, k.in(tx), ids)
}

// sweepLate deletes mail for runs that are over, and what is known of deliveries to runs that are gone: their sender looked the run up before and committed after;
// and what listens of runs that are over.
// Each call looks at the next of all, and begins anew where it has seen all.
func (k *keeper) sweepLate(ctx context.Context) error {
	for _, late := range []struct {
		s    *statement
		at   *atomic.Int64
		most int
	}{{sweepLateMail, &k.looked, lateMail}, {sweepLateKnown, &k.heard, lateKnown}, {sweepDeaf, &k.listened, lateDeaf}} {
		var last *int64
		k.counters.statements.Add(1)
		if err := k.pool.QueryRow(ctx, k.sql(late.s), late.at.Load(), late.most).Scan(&last); err != nil {
			return k.failedRead(err)
		}
		if last == nil {
			last = new(int64)
		}
		late.at.Store(*last)
	}
	return nil
}
