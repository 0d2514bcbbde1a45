package postgres

// Heartbeats, and when none is needed. A worker that holds nothing is not buried before idleGrace, so its heartbeats are answered here; the first claim or
// birth after idleness renews its lease in the same transaction. A heartbeat that follows another at once, because of mail, asks for that alone, and nobody waits for
// the disk.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// graceMargin is what is left of idleGrace when a worker that holds nothing sends heartbeats all the same.
const graceMargin = 30 * time.Second

var (
	heartbeatWorker = load("heartbeat_worker")
	seeWorker       = load("see_worker")
	endedRuns       = load("ended_runs")
	heldTasks       = load("held_tasks")
	accountRuns     = load("account_runs")
	accountTasks    = load("account_tasks")
	ownedMail       = load("owned_mail")
)

// notBefore is what the database says that the time is, or what was said here before, if that was later: clocks do not run alike.
func (db *database) notBefore(now time.Time) time.Time {
	if said := db.now(); said.After(now) {
		return said
	}
	return now
}

// Heartbeat renews a worker's lease and returns its news; see [world.Queue].
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	if ctx.Err() != nil {
		return world.Heartbeat{}, context.Cause(ctx)
	}
	wk, err := w.find(ctx, q.Worker)
	switch {
	case err != nil:
		return world.Heartbeat{}, fmt.Errorf("worker %s: heartbeat: %w", q.Worker, err)
	case wk == nil || w.isClosed():
		return world.Heartbeat{}, w.notAlive(q.Worker)
	}
	now, mine := w.now(), w.crew.ownedBy(wk)
	if !q.Account && !wk.Remote { // another server may have given it something
		if b, ok := w.crew.idleHeartbeat(wk, now, len(mine)+len(q.Tasks)); ok {
			return b, nil
		}
	}
	b, held, err := w.askHeartbeat(ctx, wk, mine, &q)
	if err != nil {
		return world.Heartbeat{}, err
	}
	for i, k := range q.Tasks {
		if !held[i] {
			b.Ended = append(b.Ended, k)
		}
	}
	return b, nil
}

// askHeartbeat is the heartbeat of a worker that owns runs or holds tasks. It also tells which of the tasks it still
// holds.
func (w *World) askHeartbeat(ctx context.Context, wk *worker, mine []*run, ask *world.HeartbeatQuery) (b world.Heartbeat, held map[int]bool, err error) {
	alive, over := false, make(map[int64]bool)
	held = make(map[int]bool, len(ask.Tasks))
	sent, fresh := time.Now(), w.crew.fresh(wk)
	err = w.batch(ctx, func(q *pgx.Batch) {
		alive, b.Mail, b.Account = false, nil, nil
		see := func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&b.Now, &b.Until}, func() error { alive = true; return nil })
			return err
		}
		if fresh.IsZero() {
			q.Queue(w.sql(heartbeatWorker), wk.key, int64(w.clock.skew())).Query(see)
		} else {
			q.Queue(w.sql(seeWorker), wk.key).Query(see)
		}
		if len(mine) > 0 {
			askEnded(&w.database, q, mine, over)
		}
		switch {
		case wk.Remote:
			q.Queue(w.sql(ownedMail), wk.key).Query(addMail(&b.Mail))
		case len(mine) > 0:
			q.Queue(w.sql(runsMail), keysOfRuns(mine), wk.key).Query(addMail(&b.Mail))
		}
		if len(ask.Tasks) > 0 {
			askTasks(&w.database, q, wk, ask.Tasks, held)
		}
		if ask.Account {
			b.Account = &world.Account{}
			askAccount(&w.database, q, wk, b.Account)
		}
	})
	if err != nil {
		return b, nil, err
	}
	if !alive {
		if b.Now, b.Until, alive, err = w.rejoin(ctx, wk); err != nil {
			return world.Heartbeat{}, nil, err
		}
		fresh = time.Time{}
	}
	if !alive {
		w.crew.forget(wk)
		return b, nil, w.notAlive(wk.ID)
	}
	w.clock.measure(sent, b.Now)
	b.Now, b.Until = w.notBefore(b.Now.UTC()), world.Within(b.Until.UTC())
	if !fresh.IsZero() {
		b.Until = fresh
	}
	b.Lost = w.crew.afterHeartbeat(wk, b.Until, mine, over, b.Account)
	return b, held, nil
}

// askEnded asks which runs are over.
func askEnded(db *database, q *pgx.Batch, runs []*run, over map[int64]bool) {
	q.Queue(db.sql(endedRuns), keysOfRuns(runs)).Query(func(rows pgx.Rows) error {
		var key int64
		_, err := pgx.ForEachRow(rows, []any{&key}, func() error { over[key] = true; return nil })
		return err
	})
}

// keysOfRuns are the keys by which a worker's runs are asked for: behind an old snapshot the index of owners is full of
// dead entries. For a worker whose runs another server may know of, that index has to do.
func keysOfRuns(runs []*run) []int64 {
	keys := make([]int64, len(runs))
	for i, r := range runs {
		keys[i] = r.key
	}
	return keys
}

// addMail reads the rows of inboxes.
func addMail(mail *[]world.Mail) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			_, m, err := scanMail(rows)
			if err != nil {
				return err
			}
			*mail = append(*mail, m)
		}
		return rows.Err()
	}
}

// askTasks asks which of some tasks a worker holds.
func askTasks(db *database, q *pgx.Batch, wk *worker, tasks []world.TaskKey, held map[int]bool) {
	runs, steps, attempts := make([]string, len(tasks)), make([]string, len(tasks)), make([]int32, len(tasks))
	for i, k := range tasks {
		runs[i], steps[i], attempts[i] = k.Run, k.Step, int32(k.Attempt)
	}
	q.Queue(db.sql(heldTasks), wk.key, runs, steps, attempts).Query(func(rows pgx.Rows) error {
		var i int
		_, err := pgx.ForEachRow(rows, []any{&i}, func() error { held[i-1] = true; return nil })
		return err
	})
}

// askAccount asks for all that a worker owns.
func askAccount(db *database, q *pgx.Batch, wk *worker, a *world.Account) {
	q.Queue(db.sql(accountRuns), wk.key).Query(func(rows pgx.Rows) error {
		var r world.OwnedRun
		_, err := pgx.ForEachRow(rows, []any{&r.Run, &r.Claim, &r.Last}, func() error { a.Runs = append(a.Runs, r); return nil })
		return err
	})
	q.Queue(db.sql(accountTasks), wk.key).Query(func(rows pgx.Rows) error {
		var k world.TaskKey
		_, err := pgx.ForEachRow(rows, []any{&k.Run, &k.Step, &k.Attempt}, func() error { a.Tasks = append(a.Tasks, k); return nil })
		return err
	})
}

// scanMail reads a row of an inbox, and the key of its run.
func scanMail(rows pgx.Rows) (run int64, m world.Mail, err error) {
	var delivery, sum *string
	var created time.Time
	var format int
	var head string
	var body []byte
	if err := rows.Scan(&m.Row, &run, &m.Run, &created, &delivery, &m.ArrivedAt, &format, &head, &body, &sum); err != nil {
		return 0, m, err
	}
	m.ID, m.ArrivedAt = textOf(delivery), world.Within(m.ArrivedAt.UTC())
	layout.ReadMail(&m, created, format, head, body, intactMail(sum, run, m.ID, format, head, body))
	return run, m, nil
}
