package postgres

// The examination of runs and workers: what stands still, and why.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	doctorWaiting = load("doctor_waiting")
	doctorUnowned = load("doctor_unowned")
	doctorWorkers = load("doctor_workers")
	doctorMail    = load("doctor_mail")
	doctorChunks  = load("doctor_chunks")
	doctorTasks   = load("doctor_tasks")
	doctorBacklog = load("doctor_backlog")
)

// Clocks may differ by so much before somebody should look at them; what is due is decided by the database's alone.
const mostSkew = time.Second

// Housekeeping may leave so much behind.
const (
	mostUnswept  = 5_000
	mostUnsummed = 100_000
)

// waiting is what one class of runs, or one step, waits for.
type waiting struct {
	what  string
	n     int64
	since *time.Time
	known bool // a live worker has registered it
}

// overdue tells of the first that waits, those that no worker knows before others.
func (x *examination) overdue(all []waiting, kind, limit string) world.Finding {
	if len(all) == 0 {
		return good("none")
	}
	total, worst := int64(0), all[0]
	for _, a := range all {
		if total += a.n; !a.known && worst.known {
			worst = a
		}
	}
	found := fmt.Sprintf("%d for over a minute; first %s, for %s", total, worst.what, x.ago(worst.since))
	if worst.known {
		return world.Finding{Health: world.HealthWarning, Found: found, Advice: "there are too few workers: raise their " + limit + ", or start more"}
	}
	return world.Finding{Health: world.HealthBad, Found: found, Advice: "no live worker has registered this " + kind + ": deploy one"}
}

func (x *examination) overdueRuns(ctx context.Context) (world.Finding, error) {
	var all []waiting
	err := x.w.read(ctx, doctorWaiting, func(row pgx.Rows) error {
		var a waiting
		var workflow string
		var version int
		if err := row.Scan(&workflow, &version, &a.n, &a.since, &a.known); err != nil {
			return err
		}
		a.what = fmt.Sprintf("%s version %d", workflow, version)
		if version == 0 {
			a.what = workflow + " of any version"
		}
		all = append(all, a)
		return nil
	})
	return x.overdue(all, "workflow and version", "MaxRuns"), err
}

func (x *examination) overdueTasks(ctx context.Context) (world.Finding, error) {
	var all []waiting
	err := x.w.read(ctx, doctorTasks, func(row pgx.Rows) error {
		var a waiting
		err := row.Scan(&a.what, &a.n, &a.since, &a.known)
		all = append(all, a)
		return err
	})
	return x.overdue(all, "step", "MaxSteps"), err
}

func (x *examination) unowned(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorUnowned, func(row pgx.Rows) error {
		var n, nobody int64
		var run string
		if err := row.Scan(&n, &run, &nobody); err != nil {
			return err
		}
		switch f = good("none"); {
		case nobody > 0:
			f = bad("to repair them now:  stepwell doctor --mend", "%d have an owner that no longer exists, or are due and no worker can reach them; one is %s", n, run)
		case n > 0:
			f = bad(world.MendAdvice, "%d have an owner that no longer exists; one is %s", n, run)
		}
		return nil
	})
	return f, err
}

func (x *examination) workers(ctx context.Context) (f world.Finding, err error) {
	err = x.readWorkers(ctx, func(alive, lost int64, _ string, _ time.Duration) {
		switch {
		case alive == 0:
			f = warning("no run continues until one starts", "none is alive")
		case lost > 0:
			f = warning("any worker that takes work would have ended their leases: are all of them full or hanging?", "%d alive; %d that hold work have not been heard of for more than a minute", alive, lost)
		default:
			f = good("%d alive", alive)
		}
	})
	return f, err
}

func (x *examination) clocks(ctx context.Context) (f world.Finding, err error) {
	err = x.readWorkers(ctx, func(alive, _ int64, name string, skew time.Duration) {
		switch {
		case skew.Abs() > mostSkew:
			f = warning("check NTP on that host. Leases, due times and event times use the database's clock; but new run IDs, logs, signatures of webhooks and the code of steps use the host's", "worker %s is off by %s", name, skew.Round(time.Millisecond))
		case name == "":
			f = good("there is no worker to compare with")
		default:
			f = good("at most %s off the database's", skew.Abs().Round(time.Millisecond))
		}
	})
	return f, err
}

func (x *examination) readWorkers(ctx context.Context, each func(alive, lost int64, name string, skew time.Duration)) error {
	return x.w.read(ctx, doctorWorkers, func(row pgx.Rows) error {
		var alive, lost, skew int64
		var name string
		if err := row.Scan(&alive, &lost, &name, &skew); err != nil {
			return err
		}
		each(alive, lost, name, time.Duration(skew))
		return nil
	})
}

func (x *examination) oldMail(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorMail, func(row pgx.Rows) error {
		var n int64
		var since *time.Time
		var run string
		if err := row.Scan(&n, &since, &run); err != nil {
			return err
		}
		if f = good("none"); n > 0 {
			f = warning("see why that run does not read it: `stepwell runs show "+run+"`", "%d for over a minute, the oldest for %s; run %s has some", n, x.ago(since), run)
		}
		return nil
	})
	return f, err
}

func (x *examination) blocked(ctx context.Context) (world.Finding, error) {
	workflows, _, err := x.w.countRuns(ctx)
	if found := world.BlockedRuns(workflows); found != "" {
		return warning("`stepwell runs list` shows why each is blocked; fix that, and the run continues by itself", "%s", found), err
	}
	return good("none"), err
}

func (x *examination) backlog(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorBacklog, func(row pgx.Rows) error {
		var unswept, unsummed int64
		if err := row.Scan(&unswept, &unsummed); err != nil {
			return err
		}
		f = good("%d runs to delete, %d counts to sum up", unswept, unsummed)
		if unswept > mostUnswept || unsummed > mostUnsummed {
			f = warning("workers do this every 5 minutes: is one alive?", "%d runs should have been deleted more than an hour ago; %d counts are to be summed up", unswept, unsummed)
		}
		return nil
	})
	return f, err
}

// streams looks for what no write and no sweep leaves.
func (x *examination) streams(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorChunks, func(row pgx.Rows) error {
		var orphans, wrong int64
		var run string
		if err := row.Scan(&orphans, &wrong, &run); err != nil {
			return err
		}
		switch {
		case wrong > 0:
			f = bad("rows were changed by hand, or lost: restore a backup, or continue in a fork of the run", "%d batches of chunks overlap or leave a gap; run %s has some", wrong, run)
		case orphans > 0:
			f = warning("nothing reads them; delete those whose run is in no row of runs, by key", "%d batches of chunks belong to runs that do not exist", orphans)
		default:
			f = good("no gaps")
		}
		return nil
	})
	return f, err
}
