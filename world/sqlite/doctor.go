package sqlite

// The examination of a file, for people: runs that stand still, and what makes it slow.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	doctorRuns    = load("doctor_runs")
	doctorTasks   = load("doctor_tasks")
	doctorMail    = load("doctor_mail")
	doctorWorkers = load("doctor_workers")
	doctorPages   = load("doctor_pages")
	doctorUnswept = load("doctor_unswept")
	doctorChunks  = load("doctor_chunks")
	doctorOrphans = load("doctor_orphans")
	doctorApart   = load("doctor_apart")
	doctorInbox   = load("doctor_inbox")
	doctorUnowned = load("doctor_unowned")
	doctorEnds    = load("doctor_ends")
)

// What is too long, too large or too many.
const (
	overdueAfter = time.Minute
	unsweptAfter = time.Hour
	mostUnswept  = 5_000
	manyFree     = 256 << 20 // bytes of free pages, where they are more than half of the file
)

// Examine runs all checks; see [world.Doctor].
func (w *World) Examine(ctx context.Context, begin func(check string), tell func(world.Finding)) error {
	now := w.crew.now()
	for _, c := range []struct {
		name string
		look func(c *conn, now time.Time) (world.Finding, error)
	}{
		{"schema", examineSchema},
		{"file", w.examineFile},
		{"workers", examineWorkers},
		{"overdue runs", func(c *conn, now time.Time) (world.Finding, error) {
			return examineOverdue(c, now, doctorRuns, "workflow and version", "MaxRuns")
		}},
		{"overdue steps", func(c *conn, now time.Time) (world.Finding, error) {
			return examineOverdue(c, now, doctorTasks, "step", "MaxSteps")
		}},
		{"old mail", examineMail},
		{"streams", examineStreams},
		{"rows of no run", examineOrphans},
		{"large values", examineApart},
		{"inboxes", examineInboxes},
		{"runs without a worker", examineUnowned},
		{"logs", examineEnds},
		{"counts", examineCounts},
		{"blocked runs", examineBlocked},
		{"housekeeping", examineUnswept},
	} {
		begin(c.name)
		var f world.Finding
		err := w.read(ctx, func(conn *conn) (err error) {
			f, err = c.look(conn, now)
			return err
		})
		switch {
		case errors.Is(err, world.ErrClosed) || ctx.Err() != nil:
			return err
		case err != nil:
			f = world.Finding{Health: world.HealthWarning, Found: err.Error(), Advice: "this could not be examined"}
		}
		f.Check = c.name
		tell(f)
	}
	return nil
}

func good(format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthGood, Found: fmt.Sprintf(format, args...)}
}

func warning(advice, format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthWarning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func bad(advice, format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthBad, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func examineSchema(c *conn, _ time.Time) (f world.Finding, err error) {
	_, err = c.one(schemaVersion, func(r row) error { f = good("version %d", r.int(0)); return nil })
	return f, err
}

// examineFile tells how large the file and its write-ahead log are.
func (w *World) examineFile(c *conn, _ time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorPages, func(r row) error {
		size, free := r.int(0)*r.int(2), r.int(1)*r.int(2)
		wal := logSize(w.path)
		who := readersOf(w.path)
		others := openToOthers(w.path)
		switch {
		case len(others) > 0:
			f = warning("they contain payloads and tokens of hooks; unless you want that:  chmod 600", "users other than its owner may read or write it: %s", strings.Join(others, ", "))
		case wal > tellAt*w.opt.CheckpointSize && len(who) > 0:
			f = warning("it reads for so long that the log cannot be copied into the file: end its transaction", "write-ahead log of %d MiB beside a file of %d MiB; in a transaction: %s",
				wal>>20, size>>20, strings.Join(who, ", "))
		case wal > tellAt*w.opt.CheckpointSize:
			f = warning("the next process that writes or closes it copies it into the file; if it stays, a process reads for very long: end that", "write-ahead log of %d MiB beside a file of %d MiB", wal>>20, size>>20)
		case free > manyFree && free > size/2:
			f = warning("the pages will be reused; to give them back, stop all programs and run VACUUM", "%d MiB, %d MiB of it free", size>>20, free>>20)
		default:
			f = good("%d MiB, write-ahead log of %d MiB", size>>20, wal>>20)
		}
		return nil
	})
	return f, err
}

func examineWorkers(c *conn, now time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorWorkers, func(r row) error {
		switch alive, lost := r.int(0), r.int(1); {
		case lost > 0:
			f = warning("a worker that starts continues their runs", "%d alive; %d that hold work have not been heard of for more than a minute", alive, lost)
		case alive == 0:
			f = warning("no run continues until one starts", "none is alive")
		default:
			f = good("%d alive", alive)
		}
		return nil
	}, now.Add(-overdueAfter).UnixMicro(), now.UnixMicro())
	return f, err
}

// examineOverdue tells of the first that waits, those that no worker knows before others.
func examineOverdue(c *conn, now time.Time, s *statement, kind, limit string) (world.Finding, error) {
	var total int64
	var worst, since string
	known := true
	err := c.query(s, func(r row) (bool, error) {
		total += r.int(2)
		if registered := r.bool(4); worst == "" || known && !registered {
			known, worst, since = registered, r.text(0), now.Sub(r.time(3)).Round(time.Second).String()
			if v := r.int(1); v > 0 {
				worst += fmt.Sprintf(" version %d", v)
			}
		}
		return true, nil
	}, now.Add(-overdueAfter).UnixMicro(), now.Add(-overdueAfter).UnixMicro())
	switch {
	case total == 0:
		return good("none"), err
	case known:
		return warning("the worker is full or hangs: raise its "+limit, "%d for over a minute; first %s, for %s", total, worst, since), err
	}
	return bad("no live worker has registered this "+kind+": start one", "%d for over a minute; first %s, for %s", total, worst, since), err
}

func examineMail(c *conn, now time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorMail, func(r row) error {
		if f = good("none"); r.int(0) > 0 {
			run := r.text(2)
			f = warning("see why that run does not read it: `stepwell runs show "+run+"`", "%d for over a minute, the oldest for %s; run %s has some",
				r.int(0), now.Sub(r.time(1)).Round(time.Second), run)
		}
		return nil
	}, now.Add(-overdueAfter).UnixMicro())
	return f, err
}

// examineStreams looks for what no write and no sweep leaves.
func examineStreams(c *conn, _ time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorChunks, func(r row) error {
		switch orphans, wrong := r.int(0), r.int(1); {
		case wrong > 0:
			f = bad("rows were changed by hand, or lost: restore a backup, or continue in a fork of the run", "%d batches of chunks overlap or leave a gap; run %s has some", wrong, r.text(2))
		case orphans > 0:
			f = warning("nothing reads them; delete them: DELETE FROM chunks WHERE run NOT IN (SELECT key FROM runs)", "%d batches of chunks belong to runs that do not exist", orphans)
		default:
			f = good("no gaps")
		}
		return nil
	})
	return f, err
}

func examineBlocked(c *conn, _ time.Time) (world.Finding, error) {
	tally := world.Tally{}
	err := c.query(countRuns, func(r row) (bool, error) {
		_ = tally.Set(r.text(0), r.text(1), int(r.int(2))) // examineCounts tells of a damaged one
		return true, nil
	})
	if found := world.BlockedRuns(tally.List()); found != "" {
		return warning("`stepwell runs list` shows why each is blocked; fix that, and the run continues by itself", "%s", found), err
	}
	return good("none"), err
}

func examineUnswept(c *conn, now time.Time) (f world.Finding, err error) {
	_, err = c.one(doctorUnswept, func(r row) error {
		if f = good("%d runs to delete", r.int(0)); r.int(0) > mostUnswept {
			f = warning("a worker does this every 5 minutes: is one alive?", "%d runs should have been deleted more than an hour ago", r.int(0))
		}
		return nil
	}, now.Add(-unsweptAfter).UnixMicro())
	return f, err
}
