package sqlite

// What damage leaves that can be made right without anybody: runs and tasks that a worker has which is not there, and counts.

import (
	"context"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	badTotals    = load("bad_totals")
	doctorCounts = load("doctor_counts")
)

// Mend releases what no live worker holds and recounts runs; see [world.Mender].
func (w *World) Mend(ctx context.Context) ([]world.Finding, error) {
	return ask(ctx, w, func(g *group) ([]world.Finding, error) {
		owners, err := w.buryLost(g)
		if err != nil {
			return nil, err
		}
		if err := g.totals.flush(); err != nil {
			return nil, err
		}
		counts := 0
		if err := g.tx.query(doctorCounts, func(row) (bool, error) { counts++; return true, nil }); err != nil {
			return nil, err
		}
		if counts > 0 {
			err = g.totals.anew()
		}
		if err != nil {
			return nil, err
		}
		limits, err := g.queue.limits.recount()
		return world.Mended(owners, counts+limits), err
	})
}

// mendSome mends what is seen at a glance: owners that are not there, or were never given what they own, and counts that cannot be right.
func (w *World) mendSome(ctx context.Context) error {
	lost, wrong := false, false
	if err := w.read(ctx, func(c *conn) error {
		if _, err := c.one(doctorUnowned, func(r row) error { lost = r.int(0) > 0; return nil }); err != nil {
			return err
		}
		_, err := c.one(badTotals, func(r row) error { wrong = r.bool(0); return nil })
		return err
	}); err != nil || !lost && !wrong && !w.crew.leads() {
		return err
	}
	return w.write(ctx, func(g *group) error {
		if err := g.workers.each(func(wk *worker) error { _, err := g.workers.disownStrays(wk); return err }); err != nil {
			return err
		}
		if lost {
			if _, err := w.buryLost(g); err != nil {
				return err
			}
		}
		if !wrong {
			return nil
		}
		if err := g.totals.flush(); err != nil {
			return err
		}
		return g.totals.anew()
	})
}

// buryLost hands back what owners have that are not among the workers. A process that is not the worker process leaves
// all to that one.
func (w *World) buryLost(g *group) (owners int, err error) {
	if works, err := w.worksElsewhere(); err != nil || works {
		return 0, err
	}
	return g.workers.buryLost()
}

// examineUnowned looks for runs and tasks that nobody would bury.
func examineUnowned(c *conn, _ time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorUnowned, func(r row) error {
		if f = good("none"); r.int(0) > 0 {
			f = bad(world.MendAdvice, "%d have an owner that no longer exists; one is %s", r.int(0), r.text(1))
		}
		return nil
	})
	return f, err
}

// examineEnds looks for logs that have lost their last events.
func examineEnds(c *conn, _ time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorEnds, func(r row) error {
		if f = good("no log is cut short"); r.int(0) > 0 {
			f = bad(world.LostEndAdvice, "%d end before an event that they had; one is that of run %s", r.int(0), r.text(1))
		}
		return nil
	})
	return f, err
}

// examineCounts compares the counts of runs with the runs.
func examineCounts(c *conn, _ time.Time) (world.Finding, error) {
	var wrong []string
	err := c.query(doctorCounts, func(r row) (bool, error) {
		wrong = append(wrong, world.WrongCount(r.text(0), r.text(1), r.int(2), r.int(3)))
		return true, nil
	})
	if err != nil {
		return world.Finding{}, err
	}
	limits, err := namesWrong(c)
	if wrong = append(wrong, limits...); len(wrong) == 0 {
		return good("all counts are right"), err
	}
	return bad(world.MendAdvice, "%d are wrong: %s", len(wrong), strings.Join(wrong[:min(len(wrong), mostNamed)], "; ")), err
}

var (
	moveMail   = load("move_mail")
	moveWorker = load("move_worker")
)

// freeNumbers makes room where SQLite says that it is full and the disk is not: a row that was damaged has the last number that there is.
func (wr *writer) freeNumbers() bool {
	if wr.c == nil || wr.doubt != noDoubt {
		return false
	}
	freed := int64(0)
	for _, s := range []*statement{moveMail, moveWorker} {
		n, err := wr.c.exec(s)
		if err != nil {
			return false
		}
		freed += n
	}
	return freed > 0
}
