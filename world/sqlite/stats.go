package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	countRuns   = load("count_runs")
	listWorkers = load("list_workers")
)

// Stats returns counts and workers; see [world.Admin].
func (w *World) Stats(ctx context.Context) (out world.Stats, err error) {
	tally := world.Tally{}
	err = w.read(ctx, func(c *conn) error {
		if err := c.query(countRuns, func(r row) (bool, error) {
			_ = tally.Set(r.text(0), r.text(1), int(r.int(2))) // a count that is damaged is not shown
			return true, nil
		}); err != nil {
			return err
		}
		return c.query(listWorkers, func(r row) (bool, error) {
			out.Workers = append(out.Workers, scanWorker(r))
			return true, nil
		})
	})
	if err != nil {
		return world.Stats{}, err
	}
	out.Workflows = tally.List()
	slices.SortFunc(out.Workers, func(a, b world.WorkerRow) int { return cmp.Compare(a.ID, b.ID) })
	out.Now = w.crew.showLeases(out.Workers)
	out.Counters = w.counters.read()
	return out, nil
}

func scanWorker(r row) world.WorkerRow {
	wk := world.WorkerRow{
		Worker:   world.Worker{ID: r.text(1), Name: r.text(2), Build: r.text(3), Lease: time.Duration(r.int(6)), Remote: r.bool(11)},
		JoinedAt: r.time(7), Until: r.time(8), Runs: int(r.int(9)), Tasks: int(r.int(10)),
	}
	if unmarshal(r.bytes(4), &wk.Classes) != nil || unmarshal(r.bytes(5), &wk.Steps) != nil { // the list goes on
		wk.Name += " (damaged)"
	}
	return wk
}

func (c *counters) read() world.Counters {
	return world.Counters{
		Commits: c.commits.Load(), Groups: c.groups.Load(), Claims: c.claims.Load(), Deliveries: c.deliveries.Load(), Appends: c.appends.Load(),
		RowsRead: c.rowsRead.Load(), RowsWritten: c.rowsWritten.Load(), RowsTrimmed: c.rowsTrimmed.Load(), Statements: c.statements.Load(),
	}
}
