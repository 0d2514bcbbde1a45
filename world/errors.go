package world

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers test for with errors.Is. Stores wrap them with what they were doing.
var (
	// ErrNotFound means that the run, hook token, step or wait is unknown or deleted.
	ErrNotFound = errors.New("not found")
	// ErrRunExists means that the chosen run ID is taken.
	ErrRunExists = errors.New("run exists")
	// ErrTerminal means that the run is over and does not change any more.
	ErrTerminal = errors.New("run is over")
	// ErrConflict means that the entity exists already, or is over. The first writer wins.
	ErrConflict = errors.New("conflict")
	// ErrTooEarly means that the step may not start yet. The error is a [*TooEarlyError].
	ErrTooEarly = errors.New("too early")
	// ErrLeaseLost means that this worker no longer owns the run or task. Nothing was written.
	ErrLeaseLost = errors.New("lease lost")
	// ErrUnknownOutcome means that the commit may or may not have been written. Ask [Log.Outcome].
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrInboxFull means that the run has too many unread payloads. Send again later.
	ErrInboxFull = errors.New("inbox is full")
	// ErrDeliveryUsed means that the delivery ID was used before for the same event or hook, with
	// another payload. Nothing was written.
	ErrDeliveryUsed = errors.New("the delivery ID was used for a different payload")
	// ErrStreamClosed means that the stream is closed. Nothing was written.
	ErrStreamClosed = errors.New("stream is closed")
	// ErrForbidden means that the API key does not allow the call. Nothing was written.
	ErrForbidden = errors.New("the API key does not allow this")
	// ErrTooLarge means that a value or a commit is over its limit. Nothing was written.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid means that an argument can never be accepted. Nothing was written.
	ErrInvalid = errors.New("invalid")
	// ErrUnfit means that JSON from outside does not fit the Go type of its receiver. Nothing was
	// written. It matches [ErrInvalid] too.
	ErrUnfit = fmt.Errorf("%w: it does not fit its type", ErrInvalid)
	// ErrCorrupt means that Stepwell cannot have written the log. The error is a [*CorruptError].
	ErrCorrupt = errors.New("corrupt event log")
	// ErrFormat means that this release does not know the log's format.
	ErrFormat = errors.New("unknown log format")
	// ErrNoKey means that the run is encrypted with a key that this process does not have. The
	// error is a [*KeyError].
	ErrNoKey = errors.New("no key")
	// ErrWrongKey means that an encryption key has the ID of a different key that the database
	// knows. The message names it. Nothing was written.
	ErrWrongKey = errors.New("wrong encryption key")
	// ErrWorkerExists means that another worker process has the file. The message names it.
	ErrWorkerExists = errors.New("another worker process has the database")
	// ErrStorage means that the storage failed: full, read-only, unreachable. The message says
	// which.
	ErrStorage = errors.New("storage")
	// ErrReplaced means that the database was deleted, moved or replaced while it was open. Nothing
	// more is read or written. It also matches [ErrStorage].
	ErrReplaced = errors.New("the database is not the one that was opened")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("the database is closed")
)

// TooEarlyError says how long a step must still wait for its retry. It matches [ErrTooEarly].
type TooEarlyError struct {
	Step       string // correlation ID
	RetryAfter time.Duration
}

func (e *TooEarlyError) Error() string {
	return fmt.Sprintf("step %s: too early to start, wait %s", e.Step, e.RetryAfter)
}

// Is reports whether target is [ErrTooEarly].
func (e *TooEarlyError) Is(target error) bool { return target == ErrTooEarly }

// KeyError says which key is missing. It matches [ErrNoKey].
type KeyError struct {
	Run string
	Key string // its ID
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("run %s is encrypted with the key %q, which this process does not have", e.Run, e.Key)
}

// Is reports whether target is [ErrNoKey].
func (e *KeyError) Is(target error) bool { return target == ErrNoKey }

// CorruptError says where a log stops making sense. It matches [ErrCorrupt].
type CorruptError struct {
	Run string
	Seq int64 // number of the first invalid event
	Err error // what is wrong with it
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("run %s: corrupt event log at event %d: %v", e.Run, e.Seq, e.Err)
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }
