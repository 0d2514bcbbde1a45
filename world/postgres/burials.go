package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// burials end workers that died or left.
//
//   - Nothing that a worker holds comes back before it is certain that nothing of it commits any more: its lanes are
//     closed in a transaction of their own, which comes first.
//   - Each step may be done by several at once, or by one after another that died over it.
type burials struct {
	*database
	tell func(notices ...world.Notice)
}

func (b *burials) init(db *database, tell func(notices ...world.Notice)) {
	b.database, b.tell = db, tell
}

const (
	// stalledAfter is how long a transaction that keeps a burial waiting may wait for its client.
	stalledAfter = 500 * time.Millisecond
)

var (
	setPatience  = load("set_patience")
	endWorker    = load("end_worker")
	closeLanes   = load("close_lanes")
	endStalled   = load("end_stalled")
	workerEnded  = load("worker_ended")
	lockWorker   = load("lock_worker")
	returnRuns   = load("return_runs")
	returnTasks  = load("return_tasks")
	deleteLanes  = load("delete_lanes")
	deleteWorker = load("delete_worker")
)

// cause is why a worker is to be buried. The database judges it once more.
type cause string

const (
	left        cause = "left"
	leaseOver   cause = "lease"   // and it holds something, or has been silent for idleGrace
	sessionGone cause = "session" // its session lock is not there
)

// bury ends a worker, unless there is no such cause any more, and hands back what it held. It reports whether the worker is gone: where somebody holds
// one of its rows just now, it is not yet, and whoever looks next goes on.
func (b *burials) bury(ctx context.Context, key int64, why cause) (buried bool, err error) {
	fate := "died"
	if why == left {
		fate = "left"
	}
	var ended *string
	found := false
	known, stepped, by := b.clock.limits()
	err = b.burial(ctx, func(q *pgx.Batch) {
		q.Queue(b.sql(setPatience))
		q.Queue(b.sql(endWorker), key, fate, string(why), idleGrace.Microseconds(), schemaClass(b.opt.Schema), known, stepped, by.Microseconds())
		q.Queue(b.sql(closeLanes), key)
		q.Queue(b.sql(workerEnded), key).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&ended}, func() error { found = true; return nil })
			return err
		})
	})
	if err != nil || !found || ended == nil {
		return !found, err
	}
	return b.handBack(ctx, key, *ended == "died")
}

// burial makes a transaction that buries. Where it waits for one whose client has stopped in the middle of it, as a process that was stopped by a signal may, that
// one is ended: what it would have written belongs to the dead.
func (b *burials) burial(ctx context.Context, fill func(q *pgx.Batch)) error {
	done := make(chan struct{})
	var stalled sync.WaitGroup
	stalled.Go(func() {
		t := time.NewTimer(stalledAfter)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			b.counters.statements.Add(1)
			_, _ = b.pool.Exec(ctx, b.sql(endStalled), []string{b.sql(endWorker), b.sql(closeLanes), b.sql(lockWorker)}, stalledAfter.Microseconds())
		}
	})
	err := b.batch(ctx, fill)
	close(done)
	stalled.Wait()
	return err
}

// handBack makes what a dead worker held due at once. Where it died, that is counted against the runs that got nowhere since it took them.
func (b *burials) handBack(ctx context.Context, key int64, died bool) (all bool, err error) {
	var runs, tasks, still int64
	err = b.burial(ctx, func(q *pgx.Batch) {
		q.Queue(b.sql(setPatience))
		q.Queue(b.sql(lockWorker), key)
		q.Queue(b.sql(returnRuns), key, died).QueryRow(func(row pgx.Row) error { return row.Scan(&runs) })
		q.Queue(b.sql(returnTasks), key).QueryRow(func(row pgx.Row) error { return row.Scan(&tasks) })
		q.Queue(b.sql(deleteLanes), key)
		q.Queue(b.sql(deleteWorker), key).QueryRow(func(row pgx.Row) error { return row.Scan(&still) })
	})
	if err == nil { // also where it held nothing: runs that are to be cancelled may have waited for its code
		b.givenBack()
	}
	return err == nil && still == 0, err
}

// buryAll ends workers that are dead. It reports whether one was, so that there may be more to take now.
func (b *burials) buryAll(ctx context.Context, dead []int64) (any bool) {
	for _, key := range dead {
		buried, err := b.bury(ctx, key, leaseOver)
		any = any || buried && err == nil // where it failed, whoever looks next goes on
	}
	return any
}

// givenBack tells that there is work which nobody has.
func (b *burials) givenBack() { b.tell(world.Notice{Kind: world.NoticeWork}) }
