package world

import (
	"errors"
	"fmt"
	"time"
)

// What callers branch on. Worlds wrap them with what was being done; read them with errors.Is.
var (
	// ErrNotFound: no such run, hook token, step or wait; unknown or deleted.
	ErrNotFound = errors.New("not found")
	// ErrRunExists: the chosen run ID is taken.
	ErrRunExists = errors.New("run exists")
	// ErrTerminal: the run is over; nothing about it changes any more.
	ErrTerminal = errors.New("run is over")
	// ErrConflict: the entity exists already, or is over; the first writer stands.
	ErrConflict = errors.New("conflict")
	// ErrTooEarly: the step may not start yet; the error is a [*TooEarlyError].
	ErrTooEarly = errors.New("too early")
	// ErrLeaseLost: this worker no longer owns the run or task; nothing was written. Whoever owns it now goes on.
	ErrLeaseLost = errors.New("lease lost")
	// ErrUnknownOutcome: the commit may or may not have been written. The writer reads the row at its number to know:
	// see [Log.Outcome].
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrInboxFull: the run has too many unread payloads; send again later.
	ErrInboxFull = errors.New("inbox is full")
	// ErrDeliveryUsed: the delivery ID was used before, for the same event or hook, with another payload; nothing was
	// written.
	ErrDeliveryUsed = errors.New("the delivery ID was used for a different payload")
	// ErrStreamClosed: the stream was closed; nothing was written to it.
	ErrStreamClosed = errors.New("stream is closed")
	// ErrForbidden: who asks may not do this; nothing was written. A remote world says it of its API key.
	ErrForbidden = errors.New("the API key does not allow this")
	// ErrTooLarge: a value or a commit is over its limit; nothing was written.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the argument can never be accepted; nothing was written.
	ErrInvalid = errors.New("invalid")
	// ErrUnfit: JSON from outside does not fit the type of the code that is to take it; nothing was written. It is [ErrInvalid] too.
	ErrUnfit = fmt.Errorf("%w: it does not fit its type", ErrInvalid)
	// ErrCorrupt: the log cannot have been written by Stepwell; the error is a [*CorruptError].
	ErrCorrupt = errors.New("corrupt event log")
	// ErrFormat: the log was written in a format that this release does not know.
	ErrFormat = errors.New("unknown log format")
	// ErrNoKey: the run is encrypted with a key that this process does not have; the error is a [*KeyError].
	ErrNoKey = errors.New("no key")
	// ErrWrongKey: an encryption key has the ID of another one that the database was encrypted with; the message names it. Nothing was written.
	ErrWrongKey = errors.New("wrong encryption key")
	// ErrWorkerExists: another worker process holds the file; the message names it.
	ErrWorkerExists = errors.New("another worker process has the database")
	// ErrStorage: the storage under the world refused: full, read-only, gone. The message says which.
	ErrStorage = errors.New("storage")
	// ErrReplaced: what the world keeps its data in was deleted, moved or replaced while it was open. Nothing more is read or written; the
	// message says what happened. It comes with [ErrStorage].
	ErrReplaced = errors.New("the database is not the one that was opened")
	// ErrClosed: the world was closed.
	ErrClosed = errors.New("the database is closed")
)

// TooEarlyError says how long a step still has to wait for its retry. It matches [ErrTooEarly].
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
	Seq int64 // the first event that cannot be right
	Err error // what is wrong with it
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("run %s: corrupt event log at event %d: %v", e.Run, e.Seq, e.Err)
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns what is wrong with the event.
func (e *CorruptError) Unwrap() error { return e.Err }
