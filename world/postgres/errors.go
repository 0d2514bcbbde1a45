package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
)

// What PostgreSQL calls the failures that matter here; see its appendix "Error Codes".
const (
	codeUnique       = "23505"
	codeNull         = "23502" // a queue that messages are for is not there: see send_with.sql
	codeParameter    = "22023" // a message says no key of a limit: see message_places in schema.sql
	codeNoTx         = "25P01" // no transaction is under way
	codeCanceled     = "57014"
	codeDivision     = "22012" // how a statement of ours says that a row is not as it must be: see doc of ensure in sql/
	codeDeadlock     = "40P01"
	codeSerial       = "40001"
	codeLockTimeout  = "55P03"
	codeReadOnly     = "25006"
	codeDiskFull     = "53100"
	codeTooMany      = "53300"
	codeIdle         = "25P03" // a transaction that was left open: rolled back
	codeIdleSession  = "57P05"
	codeShutdown     = "57P01" // also pg_terminate_backend
	codeCrash        = "57P02"
	codeStarting     = "57P03"
	codeNoDatabase   = "3D000"
	codeNoSchema     = "3F000"
	codeNoTable      = "42P01"
	codeNoPermission = "42501"
)

// sqlState returns PostgreSQL's code of an error, or "" where it is none of the server's.
func sqlState(err error) string {
	if e, ok := errors.AsType[interface { // of pgx; drivers of callers have it too
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	return ""
}

// again reports whether a transaction that failed so may simply be tried again: nothing was written.
func again(err error) bool {
	switch sqlState(err) {
	case codeDeadlock, codeSerial, codeLockTimeout:
		return true
	}
	return unsent(err)
}

// unsent reports whether it is certain that nothing was sent. pgconn.SafeToRetry alone does not tell: where the connection breaks while pgx waits for the answer
// to a simple query, as COMMIT is one, it looks at the connection once more and answers "conn closed", which claims to be safe.
func unsent(err error) bool { return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) }

// classify turns an error of the driver or the server into one of ours that says what to do; others are left as they are.
func (db *database) classify(err error) error {
	if err == nil || errors.Is(err, world.ErrStorage) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	storage := func(what string) error {
		return fmt.Errorf("%w: %s: %s: %w", world.ErrStorage, db.place, what, err)
	}
	switch state := sqlState(err); state {
	case codeDiskFull:
		return storage("the server's disk is full: nothing was written; free space, then try again")
	case codeReadOnly:
		return storage("the server takes no writes: a standby, or default_transaction_read_only is set")
	case codeTooMany:
		return storage("the server has no connection left: raise max_connections, lower Options.Conns, or put a pooler in between")
	case codeShutdown, codeCrash, codeStarting:
		return storage("the server is restarting")
	case codeNoDatabase:
		return storage("create the database first")
	case codeNoSchema, codeNoTable:
		return storage("the tables are missing: run `stepwell migrate`")
	case codeNoPermission:
		return storage("the role may not do this: grant it usage of the schema and all rights on its tables and sequences")
	case codeDeadlock, codeSerial, codeLockTimeout:
		return storage("other transactions hold the same rows; nothing was written, try again")
	case "":
		if connectionLost(err) {
			return fmt.Errorf("%w: %s: no connection: %w", world.ErrStorage, db.place, onceEach{err})
		}
		return err
	default:
		if ofContent(state) {
			return fmt.Errorf("%w: %s: the database refuses what was to be written: %w", world.ErrInvalid, db.place, err)
		}
		return storage("refused")
	}
}

// ofContent reports whether the server refuses a statement for the data in it, so that the same fails again: a data exception, a constraint, a limit
// of what it can store.
func ofContent(state string) bool {
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "54")
}

// onceEach is an error that says a thing once: each way of connecting to a host, with TLS and without, fails alike.
type onceEach struct{ error }

func (e onceEach) Error() string {
	return strings.Join(slices.Compact(strings.Split(e.error.Error(), "\n")), "\n")
}

func (e onceEach) Unwrap() error { return e.error }

// connectionLost reports whether the connection, not the statement, failed.
func connectionLost(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	return err != nil && sqlState(err) == "" && !errors.Is(err, world.ErrInvalid) && !errors.Is(err, world.ErrNotFound)
}
