package postgres

// What damage leaves that can be made right without anybody: runs and tasks that a worker has which is not there, rows of the queue that are of no run, and counts.

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	lostOwners   = load("lost_owners")
	badTotals    = load("bad_totals")
	doctorCounts = load("doctor_counts")
	recountRuns  = load("recount")
	putRunsAside = load("put_runs_aside")
	giveAgain    = load("give_again")
	holdLimiting = load("hold_limiting")
	mendLimits   = load("mend_limits")
)

// Mend frees what nobody has and counts runs anew; see [world.Mender].
func (k *keeper) Mend(ctx context.Context) ([]world.Finding, error) {
	owners, err := k.buryLost(ctx)
	if err != nil {
		return nil, err
	}
	k.counters.statements.Add(1)
	again, err := k.pool.Exec(ctx, k.sql(giveAgain))
	if err != nil {
		return nil, k.failedRead(err)
	}
	if owners += int(again.RowsAffected()); again.RowsAffected() > 0 {
		k.burials.givenBack()
	}
	counts := 0
	if err := k.read(ctx, doctorCounts, func(pgx.Rows) error { counts++; return nil }); err != nil {
		return nil, err
	}
	if counts > 0 {
		if err := k.recount(ctx); err != nil {
			return nil, err
		}
	}
	limits, err := recountLimits(ctx, k)
	return world.Mended(owners, counts+limits), err
}

// recountLimits counts anew what keys of limits hold, and has runs that lost their place in line stand there again. It
// tells how many were wrong.
func recountLimits(ctx context.Context, k *keeper) (wrong int, err error) {
	err = k.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := k.in(tx)
		if _, err := in.exec(ctx, holdLimiting); err != nil {
			return err
		}
		return in.each(ctx, mendLimits, func(row scanner) error { return row.Scan(&wrong) })
	})
	if wrong > 0 {
		k.burials.givenBack()
	}
	return wrong, err
}

// buryLost hands back what owners have that are not among the workers, as if they had left, and puts rows of the queue aside that are of no run. It tells how
// many owners there were.
func (k *keeper) buryLost(ctx context.Context) (n int, err error) {
	var keys []int64
	if err := k.read(ctx, lostOwners, func(row pgx.Rows) error {
		var key int64
		err := row.Scan(&key)
		keys = append(keys, key)
		return err
	}, schemaClass(k.opt.Schema)); err != nil {
		return 0, err
	}
	for _, key := range keys {
		if err := k.burials.burial(ctx, func(q *pgx.Batch) {
			q.Queue(k.sql(setPatience))
			q.Queue(k.sql(closeLost), key)
		}); err != nil {
			return n, fmt.Errorf("end worker %d, which is not there: %w", key, err)
		}
		if _, err := k.burials.handBack(ctx, key, false); err != nil {
			return n, fmt.Errorf("hand back what worker %d had, which is not there: %w", key, err)
		}
		n++
	}
	k.counters.statements.Add(1)
	_, err = k.pool.Exec(ctx, k.sql(putRunsAside))
	return n, k.failedRead(err)
}

// mendTotals counts runs anew where the counts cannot be right.
func (k *keeper) mendTotals(ctx context.Context) error {
	wrong := false
	if err := k.read(ctx, badTotals, func(row pgx.Rows) error { return row.Scan(&wrong) }); err != nil || !wrong {
		return err
	}
	return k.recount(ctx)
}

// recount counts runs anew. Where another process sums up, or counts, at the same time, it is tried again.
func (k *keeper) recount(ctx context.Context) error {
	return k.persist(ctx, func(ctx context.Context) error {
		k.counters.statements.Add(1)
		tx, err := k.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, k.sql(recountRuns)); err != nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
			return err
		}
		return tx.Commit(ctx)
	})
}

// counts compares the counts of runs with the runs.
func (x *examination) counts(ctx context.Context) (world.Finding, error) {
	var wrong []string
	err := x.w.read(ctx, doctorCounts, func(row pgx.Rows) error {
		var workflow, status string
		var n, is int64
		err := row.Scan(&workflow, &status, &n, &is)
		wrong = append(wrong, world.WrongCount(workflow, status, n, is))
		return err
	})
	if len(wrong) == 0 {
		return good("all counts are right"), err
	}
	return bad(world.MendAdvice, "%d are wrong: %s", len(wrong), strings.Join(wrong[:min(len(wrong), mostDamaged)], "; ")), err
}

// ends looks for logs that have lost their last events.
func (x *examination) ends(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorEnds, func(row pgx.Rows) error {
		var n int64
		var run string
		if err := row.Scan(&n, &run); err != nil {
			return err
		}
		if f = good("no log is cut short"); n > 0 {
			f = bad(world.LostEndAdvice, "%d end before an event that they had; one is that of run %s", n, run)
		}
		return nil
	})
	return f, err
}
