package postgres

// Workers: who joined, and how they end. A worker that is gone is buried by whoever finds it, in two transactions: the first makes sure that nothing
// of it commits any more, the second hands back what it held. Each step may be done by several at once, or by one after another that died over it.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

const (
	// defaultLease is how long a worker is believed alive after a heartbeat, where it does not say.
	defaultLease = 10 * time.Second
	// idleGrace is for how long a worker that holds nothing need not send a heartbeat: so long its row may show a lease
	// that is over.
	idleGrace = 3 * time.Minute
)

// What files of SQL ask of w (workers): whether it holds anything; and whether it is alive, in one place, so that starters, doctor and who lists workers
// are told the same. One that holds nothing need not send a heartbeat.
var (
	holdsAny    = "(EXISTS (SELECT FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT FROM {schema}.tasks t WHERE t.worker = w.key))"
	aliveWorker = fmt.Sprintf("(w.ended IS NULL AND (w.until > clock_timestamp()"+
		" OR (w.until > clock_timestamp() - %d * interval '1 microsecond' AND NOT %s)))", idleGrace.Microseconds(), holdsAny)
)

var (
	insertWorker = load("insert_worker")
	rejoinWorker = load("rejoin_worker")
	closeLost    = load("close_lost")
)

// queueing is what a World knows of its queue, beside what its workers hold.
type queueing struct {
	session  session
	looks    looks
	resting  released
	fairness fairness
	news     news
}

// worker is one that joined through this World and was not found dead.
type worker struct {
	world.Worker
	key    int64
	claims atomic.Int64 // so far
	told   time.Time    // the end of its lease as it was told; guarded by crew.mu, as what follows
	shown  time.Time    // and as the database has it
}

// notAlive is the answer to a worker that is not, or the World is closed.
func (w *World) notAlive(id string) error {
	if w.isClosed() {
		return world.ErrClosed
	}
	return fmt.Errorf("worker %s: %w", id, world.ErrLeaseLost)
}

// Join registers a worker; see [world.Queue].
func (w *World) Join(ctx context.Context, wk world.Worker) (b world.Heartbeat, err error) {
	if err := world.CheckWorker(&wk); err != nil {
		return b, err
	}
	if w.limit > 0 && w.limit < leastConns {
		return b, fmt.Errorf("%w: %s: role %s may have %d connections there, but a worker needs at least %d: see CONNECTION LIMIT of the role and of the database, and max_connections",
			world.ErrInvalid, w.place, w.cfg.ConnConfig.User, w.limit, leastConns)
	}
	if wk.Lease == 0 {
		wk.Lease = defaultLease
	}
	classes, steps, err := registered(&wk)
	if err != nil {
		return b, err
	}
	says, err := definitionRows(wk.Definitions, wk.ID)
	if err != nil {
		return b, err
	}
	if err := w.limits.joins(ctx, &wk); err != nil {
		return b, err
	}
	wk.Classes, wk.Steps, wk.Definitions, wk.StepLimits = slices.Clone(wk.Classes), slices.Clone(wk.Steps), nil, nil
	mine := &worker{Worker: wk}
	sent := time.Now()
	err = w.batch(ctx, func(q *pgx.Batch) { // one transaction
		q.Queue(w.sql(define), says...)
		if wk.MaxRetention != 0 {
			q.Queue(w.sql(limitSetting), retentionSetting, int64(max(wk.MaxRetention, -1)), false)
		}
		q.Queue(w.sql(insertWorker), wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), w.laneNumbers(), wk.Remote).
			QueryRow(func(row pgx.Row) error { return row.Scan(&mine.key, &b.Now, &b.Until) })
	})
	if sqlState(err) == codeUnique {
		return b, fmt.Errorf("worker %s has joined: %w", wk.ID, world.ErrConflict)
	}
	if err != nil {
		return world.Heartbeat{}, fmt.Errorf("worker %s: join: %w", wk.ID, err)
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

// rejoin writes the row of a worker again that was lost, unless somebody has closed its lanes, and so said that it is dead. It reports whether the row is there
// now: another call of the same worker may have been quicker.
func (w *World) rejoin(ctx context.Context, wk *worker) (now, until time.Time, ok bool, err error) {
	classes, steps, err := registered(&wk.Worker)
	if err != nil {
		return now, until, false, err
	}
	err = w.batch(ctx, func(q *pgx.Batch) {
		ok = false
		q.Queue(w.sql(rejoinWorker), wk.key, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), wk.Remote, w.queue.session.class)
		q.Queue(w.sql(seeWorker), wk.key).Query(func(rows pgx.Rows) error {
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
		buried, err := w.burials.bury(ctx, wk.key, left)
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
