package postgres

// Changes within a transaction that the application shares: its own, which it began and ends, or one that a World began for the body of a step.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	limitLocks   = load("limit_locks")
	limitOwner   = load("limit_owner")
	notWritable  = load("not_writable")
	notifyOthers = load("notify")
	runKey       = load("run_key")
)

// Tx makes a start or a send part of the caller's transaction: see stepwell.In. The transaction
// must be on the database and the schema of the store. The store never commits it or rolls it back.
func Tx(tx pgx.Tx) world.Tx { return &transaction{pgx: tx} }

// SQLTx is [Tx] for a transaction of database/sql, with any driver for PostgreSQL.
func SQLTx(tx *sql.Tx) world.Tx { return &transaction{sql: tx} }

// transaction is a world.Tx of this package.
type transaction struct {
	pgx pgx.Tx // one of these two
	sql *sql.Tx

	// Of one that a World began; the rest is of the last commit of an owner in it.
	w      *World
	draft  *draft
	lane   int16
	fenced bool // lane is to be given back

	news []world.Notice // of messages, to be told when it is committed
}

// errNotOurs says that a transaction is ended by who began it.
var errNotOurs = fmt.Errorf("%w: the transaction is yours: commit it or roll it back as always", world.ErrInvalid)

// stepPool are connections for the bodies of steps, so that none that waits for its application keeps the queue from its own. It is opened when it
// is needed first.
type stepPool struct {
	mu   sync.Mutex
	pool *pgxpool.Pool
}

func (w *World) steps() (*pgxpool.Pool, error) {
	s := &w.writing.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.isClosed() {
		return nil, world.ErrClosed
	}
	if s.pool == nil {
		cfg := w.cfg.Copy()
		cfg.AfterConnect, cfg.ConnConfig.AfterConnect = nil, nil // the statements there are the application's: they are planned, and times are read, as it likes
		cfg.ConnConfig.OnPgError = keepStep
		if w.limit > 0 {
			cfg.MaxConns = int32(max(w.limit-w.opt.Writers-1-int(cfg.MaxConns), 1))
		}
		pool, err := pgxpool.NewWithConfig(context.Background(), cfg) // connects to nothing yet
		if err != nil {
			return nil, err
		}
		s.pool = pool
	}
	return s.pool, nil
}

// reset closes connections that nobody uses, and the others when they come back.
func (s *stepPool) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool != nil {
		s.pool.Reset()
	}
}

// close waits for bodies that are in a transaction.
func (s *stepPool) close() {
	s.mu.Lock()
	pool := s.pool
	s.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}

// beginStep begins the transaction of a body, in one round trip. What a body before it set for its session is as it was when the connection was made; and a mark
// that goes with the end of this transaction, and of no savepoint in it, tells whether it is still the same one. A caller's transaction has none.
const beginStep = "BEGIN ISOLATION LEVEL READ COMMITTED; RESET ALL; RESET ROLE; SET LOCAL stepwell.body = 'on'"

// beginTries is how often it is begun where the settings of a body before it, as a statement_timeout, come in between: that connection is closed.
const beginTries = 3

// errEndedByBody says that what a body wrote cannot be undone or committed with its step any more.
var errEndedByBody = fmt.Errorf("%w: the body ended the step's transaction with its own statement (COMMIT, ROLLBACK, or the like); "+
	"what it committed stays committed: let the step end the transaction", world.ErrInvalid)

// Begin begins a transaction for the body of a step, with isolation level read committed, on one of
// Options.Conns separate connections. It waits if all are in use. Call Commit or Rollback.
func (w *World) Begin(ctx context.Context) (world.Tx, error) {
	pool, err := w.steps()
	if err != nil {
		return nil, err
	}
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginStep})
	for try := 1; sqlState(err) == codeCanceled && ctx.Err() == nil && try < beginTries; try++ {
		tx, err = pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginStep})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, w.failed(err)
	}
	w.counters.statements.Add(1)
	return &transaction{w: w, pgx: tx}, nil
}

// Commit ends a transaction that a World began; see [world.Tx].
func (t *transaction) Commit(ctx context.Context) error {
	w := t.w
	if w == nil {
		return errNotOurs
	}
	defer t.free()
	w.counters.statements.Add(1)
	err := t.pgx.Commit(ctx)
	switch {
	case err == nil:
	case refused(err), errors.Is(err, pgx.ErrTxCommitRollback), unsent(err), errors.Is(err, pgx.ErrTxClosed):
		return w.failed(err)
	default:
		if t.draft != nil {
			w.unknown.note(t.draft.c)
		}
		return fmt.Errorf("%w: %w", world.ErrUnknownOutcome, w.classify(err))
	}
	if d := t.draft; d != nil {
		w.counters.groups.Add(1)
		w.telling.tell(append(w.durable(d), d.news...)...)
	}
	w.telling.tell(t.news...)
	return nil
}

// Rollback undoes a transaction that a World began; see [world.Tx].
func (t *transaction) Rollback(ctx context.Context) error {
	if t.w == nil {
		return errNotOurs
	}
	defer t.free()
	if err := t.pgx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		return t.w.failed(err)
	}
	return nil
}

// free gives the number of the lane back.
func (t *transaction) free() {
	if t.fenced {
		t.fenced = false
		t.w.writing.lanes <- t.lane
	}
}

// of is the transaction as this World writes in it.
func (w *World) of(tx world.Tx) (*transaction, txn, error) {
	t, ok := tx.(*transaction)
	switch {
	case !ok || t == nil:
		return nil, nil, fmt.Errorf("%w: want a transaction of package postgres, and not nil: use postgres.Tx or postgres.SQLTx", world.ErrInvalid)
	case t.w != nil && t.w != w:
		return nil, nil, fmt.Errorf("%w: another store began the transaction", world.ErrInvalid)
	case w.isClosed():
		return nil, nil, world.ErrClosed
	case t.sql != nil:
		return t, sqlTxn{&w.database, t.sql}, nil
	case t.pgx != nil:
		return t, w.in(t.pgx), nil
	}
	return nil, nil, fmt.Errorf("%w: the transaction is nil", world.ErrInvalid)
}

// CommitIn is Commit within a transaction; see [world.Transactor]. It waits for at most 10 s for
// another transaction with the same run ID, idempotency key or token. Committed.Mail of a release
// is always set, because later deliveries cannot be foreseen.
func (w *World) CommitIn(ctx context.Context, tx world.Tx, c *world.Commit) (world.Committed, error) {
	if err := world.CheckCommit(c); err != nil {
		return world.Committed{}, err
	}
	t, conn, err := w.of(tx)
	if err != nil {
		return world.Committed{}, err
	}
	if c.Items > 0 {
		return world.Committed{}, fmt.Errorf("%w: run %s: a start cannot be merged in a transaction", world.ErrInvalid, c.Run)
	}
	if c.Worker == "" && c.Birth() {
		return w.createIn(ctx, t, conn, c)
	}
	wk := w.crew.worker(c.Worker)
	switch {
	case t.w == nil:
		return world.Committed{}, fmt.Errorf("%w: run %s: commit of an owner in a transaction of the caller's", world.ErrInvalid, c.Run)
	case t.draft != nil:
		return world.Committed{}, fmt.Errorf("%w: run %s: a second commit of an owner in one transaction", world.ErrInvalid, c.Run)
	case wk == nil:
		return world.Committed{}, lost(c)
	}
	d, err := w.newDraft(ctx, c, wk)
	if err != nil {
		return world.Committed{}, err
	}
	if err := limitLast(ctx, w.patience, conn); err != nil {
		return world.Committed{}, w.failed(err)
	}
	if err := w.ownerIn(ctx, t, conn, d); err != nil {
		return world.Committed{}, w.failed(err)
	}
	t.draft = d
	d.done.Mail = d.freed != 0
	return d.done, nil
}

// ownerIn writes the commit of an owner in a transaction that a World began, its fence last.
func (w *World) ownerIn(ctx context.Context, t *transaction, conn txn, d *draft) (err error) {
	c := d.c
	r := w.crew.owned(c.Run)
	known := !goesAlone(c) && !c.Birth() && len(c.Births) == 0 && fits(c, r, d.wk.key)
	if known {
		err = d.all(&plan{Plan: rules.Plan{Events: c.Events}}, r)
	} else {
		err = w.foresee(ctx, c, d.wk)
	}
	if err != nil {
		return err
	}
	if t.lane, err = w.freeLane(ctx); err != nil {
		return err
	}
	t.fenced = true // until the end of the transaction
	if known {
		return d.run(ctx, conn, t.lane)
	}
	return d.alone(ctx, conn, t.lane)
}

// createIn writes the birth of a run by a client.
func (w *World) createIn(ctx context.Context, t *transaction, conn txn, c *world.Commit) (world.Committed, error) {
	if err := world.SingleInTx(c.Events[0].Birth); err != nil {
		return world.Committed{}, err
	}
	if err := w.limits.payBefore(ctx, c); err != nil {
		return world.Committed{}, err
	}
	if err := w.foresee(ctx, c, nil); err != nil {
		return world.Committed{}, err
	}
	keys, err := w.newDraft(ctx, c, nil)
	if err != nil {
		return world.Committed{}, err
	}
	var d *draft
	err = w.guard(ctx, t, conn, func() error {
		d = &draft{w: w, ctx: ctx, c: c, keys: keys.keys}
		if err := d.alone(ctx, conn, 0); err != nil || d.done.Existing != "" {
			return err
		}
		return w.announceIn(ctx, conn, append(d.notices, d.news...))
	})
	if err != nil {
		return world.Committed{}, err
	}
	w.counters.commits.Add(1)
	return d.done, nil
}

// DeliverIn is Deliver within a transaction; see [world.Transactor].
func (w *World) DeliverIn(ctx context.Context, tx world.Tx, d *world.Delivery) (world.Delivered, error) {
	if err := world.CheckDelivery(d); err != nil {
		return world.Delivered{}, err
	}
	t, conn, err := w.of(tx)
	switch {
	case err != nil:
		return world.Delivered{}, err
	case d.Act || d.Task != nil && !d.RetryAt.IsZero():
		return world.Delivered{}, fmt.Errorf("%w: run %s: an act, or a further attempt, in a transaction", world.ErrInvalid, d.Run)
	case d.Task != nil:
		return w.taskEndIn(ctx, t, conn, d)
	}
	m, err := newSending(d)
	if err != nil {
		return world.Delivered{}, err
	}
	err = w.guard(ctx, t, conn, func() error {
		if err := w.sender.deliverIn(ctx, conn, m, markHeld); err != nil {
			return err
		}
		return w.announceIn(ctx, conn, m.notice())
	})
	if err != nil {
		return world.Delivered{}, w.sender.heldUp(ctx, m, err)
	}
	w.sender.delivered([]*sending{m})
	return m.result, nil
}

// KeyIn returns the ID of a run's encryption key, as the transaction sees it; see
// [world.Transactor].
func (w *World) KeyIn(ctx context.Context, tx world.Tx, run string) (key string, err error) {
	_, conn, err := w.of(tx)
	if err != nil {
		return "", err
	}
	found := false
	if storable([]any{run}) {
		err = conn.each(ctx, runKey, func(row scanner) error { found = true; return row.Scan(&key) }, run)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", w.failed(err)
	case !found:
		return "", fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	return key, nil
}

// guard makes a change of ours within a transaction, so that a refusal leaves the transaction usable, and nobody is waited for longer than
// lockPatience.
func (w *World) guard(ctx context.Context, t *transaction, conn txn, f func() error) error {
	for try := 0; ; try++ {
		err := w.guardOnce(ctx, t, conn, f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errAgain) || try == 5 {
			if ctx.Err() != nil && !ours(err) {
				return context.Cause(ctx)
			}
			return w.failed(err)
		}
	}
}

func (w *World) guardOnce(ctx context.Context, t *transaction, conn txn, f func() error) error {
	if err := conn.raw(ctx, "SAVEPOINT stepwell"); err != nil {
		if t.w != nil && sqlState(err) == codeNoTx {
			return errEndedByBody
		}
		return err
	}
	err := limited(ctx, w.patience, t, conn, f)
	if err == nil {
		return conn.raw(ctx, "RELEASE SAVEPOINT stepwell")
	}
	if undo := conn.raw(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT stepwell; RELEASE SAVEPOINT stepwell"); undo != nil && !errors.Is(err, errAgain) {
		return err // which says why
	} else if undo != nil {
		return undo
	}
	switch sqlState(err) {
	case codeReadOnly:
		server := true
		if ask := conn.each(ctx, notWritable, func(row scanner) error { return row.Scan(&server) }); ask == nil && !server {
			return fmt.Errorf("%w: the transaction is READ ONLY: begin one that can write: %w", world.ErrInvalid, err)
		}
	case codeSerial:
		return fmt.Errorf("%w: your transaction sees the database as it was when the transaction began (REPEATABLE READ or SERIALIZABLE), and a row that this needs was written since; nothing was written: "+
			"roll it back and begin a new one: %w", world.ErrStorage, err)
	}
	return err
}

// limited does something with a limit of the time to wait for locks: the caller's own stays where it is shorter.
func limited(ctx context.Context, patience time.Duration, t *transaction, conn txn, f func() error) error {
	var before, limited string
	var marked bool
	if err := conn.each(ctx, limitLocks, func(row scanner) error { return row.Scan(&before, &limited, &marked) }, patienceText(patience)); err != nil {
		return err
	}
	if t.w != nil && !marked {
		return errEndedByBody
	}
	if err := f(); err != nil {
		return err
	}
	_, err := conn.exec(ctx, setLockTimeout, before)
	return err
}

// limitLast is limited for what is the last of a transaction that a World began.
func limitLast(ctx context.Context, patience time.Duration, conn txn) error {
	same := false
	err := conn.each(ctx, limitOwner, func(row scanner) error { return row.Scan(new(string), &same) }, patienceText(patience))
	if err == nil && !same {
		err = errEndedByBody
	}
	return err
}

// taskEndIn ends an attempt of a task that its worker holds.
func (w *World) taskEndIn(ctx context.Context, t *transaction, conn txn, d *world.Delivery) (done world.Delivered, err error) {
	k := d.Task
	head, body, err := encodeMail(d.Events)
	if err != nil {
		return done, fmt.Errorf("run %s: task %s: %w", k.Run, k.Step, err)
	}
	ended := false
	err = w.guard(ctx, t, conn, func() error {
		if err := conn.each(ctx, endTask, func(row scanner) error {
			var owner *string
			ended = true
			err := row.Scan(&owner)
			done = world.Delivered{Run: k.Run, Owner: textOf(owner)}
			return err
		}, k.Run, k.Step, d.Worker, k.Attempt, orNull(d.ID), int16(world.LogFormat), head, body, mailSum(head, body, "")); err != nil {
			return err
		}
		if !ended {
			return fmt.Errorf("run %s: task %s, attempt %d: %w", k.Run, k.Step, k.Attempt, world.ErrLeaseLost)
		}
		kind := noticePost
		if done.Owner != "" {
			kind = world.NoticeMail
		}
		return w.announceIn(ctx, conn, []world.Notice{{Kind: kind, Run: k.Run}})
	})
	if err != nil {
		return world.Delivered{}, err
	}
	w.counters.deliveries.Add(1)
	return done, nil
}

// patienceText is how long others are waited for, as PostgreSQL writes it.
func patienceText(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// announceIn gives news that are told when the transaction is committed, by PostgreSQL itself.
func (w *World) announceIn(ctx context.Context, conn txn, notices []world.Notice) error {
	if w.opt.NoNotify || len(notices) == 0 {
		return nil
	}
	_, err := conn.exec(ctx, notifyOthers, w.queue.channel(), newsPayload("", notices))
	return err
}
