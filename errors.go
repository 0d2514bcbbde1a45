package stepwell

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// What callers branch on, with errors.Is.
var (
	// ErrCancelled: the run was cancelled. Operations of workflow code return it after a cancel; as the cause of a step's context
	// it says why that ended.
	ErrCancelled = engine.ErrCancelled
	// ErrNotFound: no such run, unknown or deleted; no active hook with that token.
	ErrNotFound = world.ErrNotFound
	// ErrTerminal: the run is over.
	ErrTerminal = world.ErrTerminal
	// ErrRunExists: the chosen run ID is taken.
	ErrRunExists = world.ErrRunExists
	// ErrInvalid: the argument can never be accepted; nothing was written.
	ErrInvalid = world.ErrInvalid
	// ErrUnfit: JSON from outside does not fit the type of the code that is to take it: an [*world.UnfitError] says where. It is [ErrInvalid] too.
	ErrUnfit = world.ErrUnfit
	// ErrTooLarge: a value is over its limit; nothing was written.
	ErrTooLarge = world.ErrTooLarge
	// ErrDeliveryUsed: the [DeliveryID] was used before, for the same event or hook, with another payload; nothing was
	// sent.
	ErrDeliveryUsed = world.ErrDeliveryUsed
	// ErrInboxFull: the run has too many unread payloads; send again later.
	ErrInboxFull = world.ErrInboxFull
	// ErrRateLimited: a rate lets in no more starts now; a [*world.RateError] says when to come again. Nothing was written.
	ErrRateLimited = world.ErrRateLimited
	// ErrNoKey: the run is encrypted with a key that this App does not have: see [Config].Encryption. Nothing was written. The message names the key.
	ErrNoKey = world.ErrNoKey
	// ErrWrongKey: an encryption key of this App has the ID of another one, which the database knows: see [Config].Encryption. Nothing was written.
	ErrWrongKey = world.ErrWrongKey
	// ErrAnswered: the request to a webhook was answered before, and this answer was not given.
	ErrAnswered = errors.New("the request has already been answered")
	// ErrWorkerExists: another worker process has the database file.
	ErrWorkerExists = world.ErrWorkerExists
	// ErrLeaseLost: the cause of a step's context when this worker no longer owns the step's run.
	ErrLeaseLost = world.ErrLeaseLost
	// ErrDraining: the cause of a step's context when this worker shuts down.
	ErrDraining = engine.ErrDraining
	// ErrRunOver: the cause of a step's context when its run ended without it.
	ErrRunOver = engine.ErrRunOver
	// ErrTimeout: the cause of a step's context when the attempt took longer than its [Timeout], or the run longer than its own.
	ErrTimeout = engine.ErrTimeout
)

// ErrNotStarted: no worker began the step within its [QueueTimeout].
var ErrNotStarted = errors.New("no worker began the step in time")

// DivergedError says that a workflow's code no longer matches a run's log.
type DivergedError struct {
	Run   string
	Seq   int64  // the event in the log where it was found
	Log   string // what the log holds
	Build string // of the program that wrote the event
	Code  string // what the code asks for instead
	Where string // and where: file:line, if known
	Name  string // of the operation in the log
	// AskedBy is the build of the code that asks, and Worker the name of the worker that ran it.
	AskedBy, Worker string
	// Same: the build that wrote the event is the one that replayed it: the code does not match itself.
	Same bool
	// Strict: [Config].Strict found that the code does not match itself. Log is what it did when it ran, At
	// where that was, if known; Code and Where are of a replay beside it.
	Strict bool
	At     string
}

func (e *DivergedError) Error() string { return (*replay.DivergedError)(e).Error() }

// Fatal marks an error of a step as one that another attempt would not help: the step fails at once. nil stays nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &engine.FatalError{Err: err, At: engine.Caller(0)}
}

// RetryAfter asks for the next attempt of a step after d, instead of what its [Retry] says. It uses up an attempt like any other
// failure. nil stays nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &engine.RetryError{Err: err, After: d, At: engine.Caller(0)}
}

// StepError is the failure of a step as its run recorded it: the same on replay. It is also how a child run, or a run that
// [AwaitRun] waited for, failed or was cancelled.
//
// Where is what the innermost error in the chain says that can tell: by a method Where() string, by a stack that it
// carries (a method StackTrace or Callers that returns program counters, as of github.com/pkg/errors), or as it came from
// [Fatal] or [RetryAfter]. Else it is the line in the workflow that called the step, or, where nobody waits there, as of
// an undo, where the step's function begins. A panic has the line that panicked.
type StepError struct {
	Step      string // name; of a child run its workflow's, of an awaited run its ID
	Message   string
	Code      string // PANIC, TIMEOUT, ENCODE, TOO_LARGE, CANCELLED…, or what the error's own Code() string said; "" for most
	Where     string // file:line where it arose
	Stack     string // of a panic: the author's part of it
	Permanent bool   // it was marked [Fatal], or another attempt would not have helped
	record    *world.Error
	err       error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Step, e.Message) }

// Unwrap returns the recorded error, with its causes.
func (e *StepError) Unwrap() error { return e.err }

// Is matches [ErrCancelled] where the step was cancelled before it ended, or the other run was; [ErrTimeout] where the last
// attempt took too long; [ErrHeartbeat] where it sent no heartbeat in time; [ErrNotStarted] where no worker began it in
// time; [ErrTooLarge] where the result was too large; [ErrInvalid] where it does not encode; [ErrRunExists] where a child's chosen ID was taken;
// [ErrNotFound] where a run that is awaited or sent to is unknown; [ErrTerminal] where one that is sent to is over.
func (e *StepError) Is(target error) bool {
	switch target {
	case ErrCancelled:
		return e.Code == world.CodeCancelled
	case ErrTooLarge:
		return e.Code == world.CodeTooLarge
	case ErrInvalid:
		return e.Code == world.CodeEncode
	case ErrTimeout:
		return e.Code == world.CodeTimeout
	case ErrNotStarted:
		return e.Code == world.CodeNotStarted
	case ErrHeartbeat:
		return e.Code == world.CodeHeartbeat
	case ErrRunExists:
		return e.Code == world.CodeRunExists
	case ErrNotFound:
		return e.Code == world.CodeNotFound
	case ErrTerminal:
		return e.Code == world.CodeRunOver
	}
	return false
}

// RunError says that a run did not complete: it failed, or was cancelled.
type RunError struct {
	Run, Workflow string
	Cancelled     bool   // else it failed
	Message       string // of what the workflow returned; "": its code said nothing, as it was cancelled before it began
	Code          string // as that of a [StepError]
	Where         string // file:line, as that of a [StepError]
	By            string // who cancelled it; "": it failed, or its log could not be read
	err           error
}

func (e *RunError) Error() string {
	s := "run " + e.Run + " of " + e.Workflow + " failed"
	if e.Cancelled {
		s = "run " + e.Run + " of " + e.Workflow + " cancelled"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Is matches [ErrCancelled] where the run was cancelled, and [ErrTimeout] where it took longer than its [Timeout].
func (e *RunError) Is(target error) bool {
	if target == ErrTimeout {
		return !e.Cancelled && e.Code == world.CodeTimeout
	}
	return target == ErrCancelled && e.Cancelled
}

// Unwrap returns what the workflow returned, as it was recorded.
func (e *RunError) Unwrap() error { return e.err }

// ItemError says which item of a [Map] failed.
type ItemError struct {
	Index int
	Err   error
}

func (e *ItemError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap returns the item's error.
func (e *ItemError) Unwrap() error { return e.Err }
