package postgres

// A change in a transaction of its own, with looks before it writes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
)

// A change that has to wait for a stranger's lock keeps its connection for a moment only, then gives it back and tries again a little later, so that
// nobody else lacks one. All together it has lockPatience; a server that restarts is waited for as long.
const (
	lockMoment   = "100ms"
	lockPatience = 10 * time.Second

	behindMoment = "20ms" // where somebody is known to hold it
	mostBehind   = 2      // connections that wait so
)

// errAgain: what was seen has changed meanwhile; the change is to be tried again from its start.
var errAgain = errors.New("seen too early")

// A process that was stopped in the middle of one keeps the rows that it locked for no longer than idleMoment.
const idleMoment = "5s"

var changeOptions, behindOptions = changeTx(lockMoment), changeTx(behindMoment)

func changeTx(moment string) pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '" + moment +
		"'; SET LOCAL idle_in_transaction_session_timeout = '" + idleMoment + "'"}
}

// change makes a change in a transaction of its own on a connection of the pool. It tries again on a deadlock, a lock that others hold, and a connection
// that was lost before COMMIT was sent; so f may be called several times. An error of f rolls back, and is returned as it is where it is one of ours.
// [world.ErrUnknownOutcome]: the answer to COMMIT was lost.
func (db *database) change(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return db.persist(ctx, func(ctx context.Context) error { return db.changeOnce(ctx, f) })
}

// persist calls f, which is one attempt at a change, until it succeeds or it is clear that it will not.
func (db *database) persist(ctx context.Context, f func(ctx context.Context) error) error {
	began, pause := time.Now(), firstPause
	for try := 0; ; try++ {
		if db.isClosed() {
			return world.ErrClosed
		}
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case db.isClosed() && !errors.Is(err, world.ErrUnknownOutcome) && !ours(err):
			return world.ErrClosed
		case ctx.Err() != nil && !errors.Is(err, world.ErrUnknownOutcome):
			return context.Cause(ctx)
		case sqlState(err) == codeReadOnly && !ours(err) && try == 0: // the next connection may be another server's
		case !passing(err) || time.Since(began) > db.patience:
			return db.failed(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, longestPause)
		}
	}
}

func (db *database) changeOnce(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
	return db.changeWith(ctx, changeOptions, f)
}

// inChange marks the context of who has a connection of the pool. Where all that have one ask for another, all wait for ever: mayAsk refuses the first.
type inChange struct{}

func (db *database) mayAsk(ctx context.Context) error {
	if ctx.Value(inChange{}) == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: a transaction asks for a second connection: this is a fault of Stepwell", world.ErrStorage, db.place)
}

func (db *database) changeWith(ctx context.Context, options pgx.TxOptions, f func(ctx context.Context, tx pgx.Tx) error) error {
	if err := db.mayAsk(ctx); err != nil {
		return err
	}
	if db.pooled { // else the session says so
		options.BeginQuery += "; SET LOCAL jit = off"
	}
	tx, err := db.pool.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	db.counters.statements.Add(2)
	if err := f(context.WithValue(ctx, inChange{}, true), tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // a connection that is lost has rolled back
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		if refused(err) || unsent(err) || errors.Is(err, pgx.ErrTxCommitRollback) {
			return err
		}
		return fmt.Errorf("%w: %w", world.ErrUnknownOutcome, db.classify(err))
	}
	return nil
}

// refused reports whether the server said no, and so has rolled back; it did not die over it.
func refused(err error) bool {
	switch sqlState(err) {
	case "", codeShutdown, codeCrash, codeStarting:
		return false
	}
	return true
}

// passing reports whether a transaction that failed so has written nothing and may do better a little later.
func passing(err error) bool {
	if errors.Is(err, errAgain) {
		return true
	}
	if ours(err) {
		return false
	}
	switch sqlState(err) {
	case codeShutdown, codeCrash, codeStarting, codeTooMany, codeIdle:
		return true
	}
	return again(err) || broken(err)
}

// broken reports whether the connection failed, or there was none.
func broken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}

// failed is how an error of a change goes to the caller.
func (db *database) failed(err error) error {
	switch {
	case errors.Is(err, errAgain):
		return fmt.Errorf("%w: %s: other transactions keep changing the same rows; nothing was written", world.ErrStorage, db.place)
	case ours(err):
		return err
	}
	return db.classify(err)
}

// ourErrors are the errors that say what a caller may do; they are not the server's.
var ourErrors = []error{
	world.ErrNotFound, world.ErrRunExists, world.ErrTerminal, world.ErrConflict, world.ErrTooEarly, world.ErrLeaseLost, world.ErrUnknownOutcome,
	world.ErrInboxFull, world.ErrTooLarge, world.ErrInvalid, world.ErrCorrupt, world.ErrFormat, world.ErrWorkerExists, world.ErrStorage, world.ErrClosed,
	world.ErrStreamClosed, world.ErrDeliveryUsed, world.ErrRateLimited,
}

func ours(err error) bool {
	for _, e := range ourErrors {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
