package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	countLive   = load("count_live")
	countEnded  = load("count_ended")
	addTotal    = load("add_total")
	listWorkers = load("list_workers")
)

// total is a count of runs that are over.
type total struct{ workflow, status string }

// Stats counts; see [world.Admin].
func (w *World) Stats(ctx context.Context) (out world.Stats, err error) {
	byName := make(map[string]*world.WorkflowStats)
	of := func(name string) *world.WorkflowStats {
		if byName[name] == nil {
			byName[name] = &world.WorkflowStats{Workflow: name}
		}
		return byName[name]
	}
	err = w.read(ctx, func(c *conn) error {
		if err := c.query(countLive, func(r row) (bool, error) {
			s, n := of(r.text(0)), int(r.int(2))
			if r.bool(1) {
				s.Running += n
			} else {
				s.Pending += n
			}
			s.Blocked += int(r.int(3))
			s.Paused += int(r.int(4))
			return true, nil
		}); err != nil {
			return err
		}
		if err := c.query(countEnded, func(r row) (bool, error) {
			if n := int(r.int(2)); n > 0 {
				*ended(of(r.text(0)), world.Status(r.text(1))) += n
			}
			return true, nil
		}); err != nil {
			return err
		}
		return c.query(listWorkers, func(r row) (bool, error) {
			wk, err := scanWorker(r)
			out.Workers = append(out.Workers, wk)
			return err == nil, err
		})
	})
	if err != nil {
		return world.Stats{}, err
	}
	for _, s := range byName {
		out.Workflows = append(out.Workflows, *s)
	}
	slices.SortFunc(out.Workflows, func(a, b world.WorkflowStats) int { return cmp.Compare(a.Workflow, b.Workflow) })
	slices.SortFunc(out.Workers, func(a, b world.WorkerRow) int { return cmp.Compare(a.ID, b.ID) })
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range out.Workers {
		if wk := w.workers[out.Workers[i].ID]; wk != nil {
			out.Workers[i].Until = wk.until // the file's may be a little behind
		}
	}
	out.Now, out.Counters = w.nowLocked(), w.counters.read()
	return out, nil
}

func ended(s *world.WorkflowStats, status world.Status) *int {
	switch status {
	case world.Completed:
		return &s.Completed
	case world.Failed:
		return &s.Failed
	default:
		return &s.Cancelled
	}
}

func scanWorker(r row) (wk world.WorkerRow, err error) {
	wk = world.WorkerRow{
		Worker:   world.Worker{ID: r.text(1), Name: r.text(2), Build: r.text(3), Lease: time.Duration(r.int(6))},
		JoinedAt: r.time(7), Until: r.time(8), Runs: int(r.int(9)), Tasks: int(r.int(10)),
	}
	if err = unmarshal(r.bytes(4), &wk.Classes); err == nil {
		err = unmarshal(r.bytes(5), &wk.Steps)
	}
	if err != nil {
		err = fmt.Errorf("%w: worker %s: %w", world.ErrCorrupt, wk.ID, err)
	}
	return wk, err
}

func (c *counters) read() world.Counters {
	return world.Counters{
		Commits: c.commits.Load(), Groups: c.groups.Load(), Takes: c.takes.Load(), Deliveries: c.deliveries.Load(),
		RowsRead: c.rowsRead.Load(), RowsWritten: c.rowsWritten.Load(), Statements: c.statements.Load(),
	}
}

// count notes that runs ended, or were swept; the group writes the sums once.
func (g *group) count(workflow, status string, n int64) {
	if g.totals == nil {
		g.totals = make(map[total]int64)
	}
	g.totals[total{workflow, status}] += n
}

func (g *group) writeTotals() error {
	for t, n := range g.totals {
		if err := g.exec(addTotal, t.workflow, t.status, n); err != nil {
			return err
		}
	}
	return nil
}
