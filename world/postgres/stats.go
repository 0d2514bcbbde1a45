package postgres

// What is counted. Changes of the number of runs are rows of totals, so that no two writers wait for each other; they are summed up now and then.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	databaseTime = load("database_time")
	countRuns    = load("count_runs")
	sumTotals    = load("sum_totals")
	listWorkers  = load("list_workers")
)

// mostTotals is how many rows of totals one Stats finds before it sums them up for the next.
const mostTotals = 5000

// Stats counts; see [world.Admin]. It looks at no run.
func (k *keeper) Stats(ctx context.Context) (out world.Stats, err error) {
	var changes int64
	if out.Workflows, changes, err = k.reader.countRuns(ctx); err != nil {
		return world.Stats{}, err
	}
	if changes > mostTotals {
		if err := k.sumTotals(ctx); err != nil {
			return world.Stats{}, err
		}
	}
	if err := k.read(ctx, listWorkers, func(row pgx.Rows) error {
		wk, err := scanWorker(row)
		out.Workers = append(out.Workers, wk)
		return err
	}, idleGrace.Microseconds()); err != nil {
		return world.Stats{}, err
	}
	if err := k.read(ctx, databaseTime, func(row pgx.Rows) error { return row.Scan(&out.Now) }); err != nil {
		return world.Stats{}, err
	}
	out.Now, out.Counters = out.Now.UTC(), k.counters.read()
	return out, nil
}

// countRuns also tells how many changes it added up.
func (rd *reader) countRuns(ctx context.Context) (out []world.WorkflowStats, changes int64, err error) {
	tally := world.Tally{}
	err = rd.read(ctx, countRuns, func(row pgx.Rows) error {
		var name, status string
		var n, rows int64
		if err := row.Scan(&name, &status, &n, &rows); err != nil {
			return err
		}
		changes += rows
		_ = tally.Set(name, status, int(n)) // a count that is damaged is not shown
		return nil
	})
	return tally.List(), changes, err
}

// sumTotals puts a row for each workflow and status in the place of all that are there. Nobody reads a wrong sum meanwhile, and writers go on.
func (k *keeper) sumTotals(ctx context.Context) error {
	k.counters.statements.Add(1)
	_, err := k.pool.Exec(ctx, k.sql(sumTotals))
	return k.failedRead(err)
}

func scanWorker(row pgx.Rows) (wk world.WorkerRow, err error) {
	var classes, steps string
	var lease int64
	if err := row.Scan(&wk.ID, &wk.Name, &wk.Build, &classes, &steps, &lease, &wk.JoinedAt, &wk.Until, &wk.Runs, &wk.Tasks, &wk.Remote); err != nil {
		return wk, err
	}
	wk.Lease, wk.JoinedAt, wk.Until = time.Duration(lease), world.Within(wk.JoinedAt.UTC()), world.Within(wk.Until.UTC())
	if unmarshal("classes", &classes, &wk.Classes) != nil || unmarshal("steps", &steps, &wk.Steps) != nil { // the list goes on
		wk.Name += " (damaged)"
	}
	return wk, nil
}

func (c *counters) read() world.Counters {
	return world.Counters{
		Commits: c.commits.Load(), Groups: c.groups.Load(), Claims: c.claims.Load(), Deliveries: c.deliveries.Load(), Appends: c.appends.Load(),
		RowsRead: c.rowsRead.Load(), RowsWritten: c.rowsWritten.Load(), RowsTrimmed: c.rowsTrimmed.Load(), Statements: c.statements.Load() + c.housekeeping.Load(),
	}
}
