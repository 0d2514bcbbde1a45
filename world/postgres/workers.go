package postgres

// Workers: who joined, and how they end. A worker that is gone is buried by whoever finds it, in two transactions: the first makes sure that nothing
// of it commits any more, the second hands back what it held. Each step may be done by several at once, or by one after another that died over it.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

const (
	// defaultLease is how long a worker is believed alive after a beat, where it does not say.
	defaultLease = 10 * time.Second
	// idleGrace is for how long a worker that holds nothing need not beat: so long its row may show a lease that is over.
	idleGrace = 3 * time.Minute
	// stalledAfter is how long a transaction that keeps a burial waiting may wait for its client.
	stalledAfter = 500 * time.Millisecond
)

var (
	insertWorker = load("insert_worker")
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
	rejoinWorker = load("rejoin_worker")
	closeLost    = load("close_lost")
)

// queueing is what a World knows of its queue, beside what its workers hold.
type queueing struct {
	session session
	looks   looks
	resting resting
	turns   turns
	news    news
}

// worker is one that joined through this World and was not found dead.
type worker struct {
	world.Worker
	key   int64
	takes atomic.Int64 // so far
	told  time.Time    // the end of its lease as it was told; guarded by crew.mu, as what follows
	shown time.Time    // and as the database has it
}

// notAlive is the answer to a worker that is not, or the World is closed.
func (w *World) notAlive(id string) error {
	if w.isClosed() {
		return world.ErrClosed
	}
	return fmt.Errorf("worker %s: %w", id, world.ErrLeaseLost)
}

// Join registers a worker; see [world.Queue].
func (w *World) Join(ctx context.Context, wk world.Worker) (b world.Beat, err error) {
	if err := world.CheckWorker(&wk); err != nil {
		return b, err
	}
	if w.limit > 0 && w.limit < leastConns {
		return b, fmt.Errorf("%w: %s: role %s may have %d connections there, and a worker needs %d at least: see CONNECTION LIMIT of the role and of the database, and max_connections",
			world.ErrInvalid, w.place, w.cfg.ConnConfig.User, w.limit, leastConns)
	}
	if wk.Lease == 0 {
		wk.Lease = defaultLease
	}
	classes, steps, err := registered(&wk)
	if err != nil {
		return b, err
	}
	wk.Classes, wk.Steps = slices.Clone(wk.Classes), slices.Clone(wk.Steps)
	mine := &worker{Worker: wk}
	sent := time.Now()
	err = w.batch(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(insertWorker), wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), w.laneNumbers(), wk.Remote).
			QueryRow(func(row pgx.Row) error { return row.Scan(&mine.key, &b.Now, &b.Until) })
	})
	if sqlState(err) == codeUnique {
		return b, fmt.Errorf("worker %s has joined: %w", wk.ID, world.ErrConflict)
	}
	if err != nil {
		return world.Beat{}, fmt.Errorf("worker %s: join: %w", wk.ID, err)
	}
	w.clock.measure(sent, b.Now)
	b.Now, b.Until = b.Now.UTC(), b.Until.UTC()
	mine.told, mine.shown = b.Until, b.Until
	w.crew.know(mine)
	return b, nil
}

// registered is how the database keeps what a worker can run.
func registered(wk *world.Worker) (classes, steps string, err error) {
	a, err := json.Marshal(wk.Classes)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(wk.Steps)
	return string(a), string(b), err
}

// rejoin writes the row of a worker again that was lost, unless somebody has closed its lanes, and so said that it is dead.
func (w *World) rejoin(ctx context.Context, wk *worker) (now, until time.Time, ok bool, err error) {
	classes, steps, err := registered(&wk.Worker)
	if err != nil {
		return now, until, false, err
	}
	err = w.batch(ctx, func(q *pgx.Batch) {
		ok = false
		q.Queue(w.sql(rejoinWorker), wk.key, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), wk.Remote, w.queue.session.class).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&now, &until}, func() error { ok = true; return nil })
			return err
		})
	})
	return now, until, ok, err
}

// Leave ends a worker's lease and hands back what it holds; see [world.Queue].
func (w *World) Leave(ctx context.Context, id string) error {
	wk, err := w.find(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("worker %s: leave: %w", id, err)
	case wk == nil && w.isClosed():
		return world.ErrClosed
	case wk == nil:
		return nil
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		buried, err := w.bury(ctx, wk.key, left)
		if err == nil && buried {
			w.crew.forget(wk)
			return nil
		}
		if err != nil && !again(err) {
			return fmt.Errorf("worker %s: leave: %w", id, err)
		}
		select { // somebody holds a row of it for a moment
		case <-ctx.Done():
			return fmt.Errorf("worker %s: leave: %w", id, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// cause is why a worker is to be buried. The database judges it once more.
type cause string

const (
	left        cause = "left"
	leaseOver   cause = "lease"   // and it holds something, or has been silent for idleGrace
	sessionGone cause = "session" // its session lock is not there
)

// bury ends a worker, unless there is no such cause any more, and hands back what it held. It reports whether the worker is gone: where somebody holds
// one of its rows just now, it is not yet, and whoever looks next goes on.
func (w *World) bury(ctx context.Context, key int64, why cause) (buried bool, err error) {
	fate := "died"
	if why == left {
		fate = "left"
	}
	var ended *string
	found := false
	err = w.burial(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(setPatience))
		q.Queue(w.sql(endWorker), key, fate, string(why), idleGrace.Microseconds(), w.queue.session.class)
		q.Queue(w.sql(closeLanes), key)
		q.Queue(w.sql(workerEnded), key).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&ended}, func() error { found = true; return nil })
			return err
		})
	})
	if err != nil || !found || ended == nil {
		return !found, err
	}
	return w.handBack(ctx, key, *ended == "died")
}

// burial makes a transaction that buries. Where it waits for one whose client has stopped in the middle of it, as a process that was stopped by a signal may, that
// one is ended: what it would have written belongs to the dead.
func (w *World) burial(ctx context.Context, fill func(q *pgx.Batch)) error {
	done := make(chan struct{})
	var stalled sync.WaitGroup
	stalled.Go(func() {
		t := time.NewTimer(stalledAfter)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			w.counters.statements.Add(1)
			_, _ = w.pool.Exec(ctx, w.sql(endStalled), []string{w.sql(endWorker), w.sql(closeLanes), w.sql(lockWorker)}, stalledAfter.Microseconds())
		}
	})
	err := w.batch(ctx, fill)
	close(done)
	stalled.Wait()
	return err
}

// handBack makes what a dead worker held due at once. Where it died, that is counted against the runs that got nowhere since it took them.
func (w *World) handBack(ctx context.Context, key int64, died bool) (all bool, err error) {
	var runs, tasks, still int64
	err = w.burial(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(setPatience))
		q.Queue(w.sql(lockWorker), key)
		q.Queue(w.sql(returnRuns), key, died).QueryRow(func(row pgx.Row) error { return row.Scan(&runs) })
		q.Queue(w.sql(returnTasks), key).QueryRow(func(row pgx.Row) error { return row.Scan(&tasks) })
		q.Queue(w.sql(deleteLanes), key)
		q.Queue(w.sql(deleteWorker), key).QueryRow(func(row pgx.Row) error { return row.Scan(&still) })
	})
	if err == nil { // also where it held nothing: runs that are to be cancelled may have waited for its code
		w.tell(world.Notice{Kind: world.NoticeWork})
	}
	return err == nil && still == 0, err
}
