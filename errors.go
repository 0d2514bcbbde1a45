package stepwell

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Errors that callers test for with errors.Is.
var (
	// ErrCancelled means that the run was cancelled. Operations of workflow code return it after a
	// cancel. It is also the cause of the contexts of the run's steps.
	ErrCancelled = engine.ErrCancelled
	// ErrNotFound means that the run is unknown or deleted, or that no active hook has the token.
	ErrNotFound = world.ErrNotFound
	// ErrTerminal means that the run is over.
	ErrTerminal = world.ErrTerminal
	// ErrRunExists means that the chosen run ID is taken.
	ErrRunExists = world.ErrRunExists
	// ErrInvalid means that an argument can never be accepted. Nothing was written.
	ErrInvalid = world.ErrInvalid
	// ErrUnfit means that JSON from outside does not fit the Go type of its receiver. An
	// [*world.UnfitError] says where. ErrUnfit matches [ErrInvalid] too.
	ErrUnfit = world.ErrUnfit
	// ErrTooLarge means that a value is over its limit. Nothing was written.
	ErrTooLarge = world.ErrTooLarge
	// ErrDeliveryUsed means that the [DeliveryID] was used before for the same event or hook, with
	// another payload. Nothing was sent.
	ErrDeliveryUsed = world.ErrDeliveryUsed
	// ErrInboxFull means that the run has too many unread payloads. Send again later.
	ErrInboxFull = world.ErrInboxFull
	// ErrRateLimited means that a [Limit] with Refuse lets no start in now. A [*world.RateError]
	// says when to try again. Nothing was written.
	ErrRateLimited = world.ErrRateLimited
	// ErrNoKey means that the run is encrypted with a key that this App does not have: see
	// [Config].Encryption. The message names the key. Nothing was written.
	ErrNoKey = world.ErrNoKey
	// ErrWrongKey means that an encryption key of this App has the ID of a different key that the
	// database knows: see [Config].Encryption. Nothing was written.
	ErrWrongKey = world.ErrWrongKey
	// ErrAnswered means that the request to a webhook already has an answer. The new answer was
	// dropped.
	ErrAnswered = errors.New("the request has already been answered")
	// ErrWorkerExists means that another worker process has the database file.
	ErrWorkerExists = world.ErrWorkerExists
	// ErrLeaseLost is the cause of a step's context when this worker no longer owns the step's run.
	ErrLeaseLost = world.ErrLeaseLost
	// ErrDraining is the cause of a step's context when this worker shuts down.
	ErrDraining = engine.ErrDraining
	// ErrRunOver is the cause of a step's context when the run ended before the step.
	ErrRunOver = engine.ErrRunOver
	// ErrTimeout matches the cause of a step's context when the attempt or the run took longer than
	// its [Timeout], or the part of the run longer than its [WithTimeout]. It also matches the
	// [*StepError] of a step whose last attempt took too long, the [*RunError] of a run that took
	// too long, the result of [CancelCause] after a timeout, and the error of [Hook.Wait] if no
	// heartbeat came in time.
	ErrTimeout = engine.ErrTimeout
)

// ErrNotStarted means that no worker began the step within its [QueueTimeout].
var ErrNotStarted = errors.New("no worker began the step in time")

// DivergedError means that a workflow's code does not match the run's log.
type DivergedError struct {
	Run   string // run ID
	Seq   int64  // number of the event in the log
	Log   string // what the log has
	Build string // build that wrote the event
	Code  string // what the code asks for instead
	Where string // and at which file:line, if known
	Name  string // name of the operation in the log
	// AskedBy is the build of the replayed code, and Worker the name of the worker that replayed
	// it.
	AskedBy, Worker string
	// Same means that the build that wrote the event also replayed it: the code does not match
	// itself.
	Same bool
	// Strict means that [Config].Strict found the difference. Log is then what the live code did,
	// and At the file:line, if known. Code and Where are of the replay beside it.
	Strict bool
	At     string // "" without Strict
}

func (e *DivergedError) Error() string { return (*replay.DivergedError)(e).Error() }

// Fatal marks an error as final: the step fails at once, without another attempt. Fatal(nil) is
// nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &engine.FatalError{Err: err, At: engine.Caller(0)}
}

// RetryAfter sets the delay before the next attempt of a step to d, instead of the delay of its
// [Retry]. The failure counts as an attempt. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &engine.RetryError{Err: err, After: d, At: engine.Caller(0)}
}

// StepError is the recorded failure of a step. It is the same on replay. It is also the error of a
// child run, or of a run that [AwaitRun] waited for, that failed or was cancelled.
//
// Where comes from the innermost error in the chain that knows its place: by a method Where()
// string, by a recorded stack (a method StackTrace or Callers that returns program counters, as in
// github.com/pkg/errors), or by [Fatal] or [RetryAfter]. Otherwise it is the workflow's line that
// called the step. For a step without such a line, as an undo, it is the beginning of the step's
// function. For a panic it is the line that panicked.
type StepError struct {
	Step    string // name of the step, or of a child's workflow, or ID of an awaited run
	Message string // of the recorded error
	// Code is PANIC, TIMEOUT, ENCODE, TOO_LARGE, CANCELLED…, or the result of the error's own
	// Code() string. Most errors have none.
	Code      string
	Where     string // file:line of the error's origin
	Stack     string // the author's frames of a panic
	Permanent bool   // it was marked [Fatal], or another attempt could not help
	record    *world.Error
	err       error
}

func (e *StepError) Error() string { return fmt.Sprintf("step %q: %s", e.Step, e.Message) }

// Unwrap returns the recorded error with its causes.
func (e *StepError) Unwrap() error { return e.err }

// Is matches the reason of the failure:
//
//   - [ErrCancelled]: the step or the other run was cancelled
//   - [ErrTimeout]: the last attempt took too long
//   - [ErrHeartbeat]: it sent no heartbeat in time
//   - [ErrNotStarted]: no worker began the step in time
//   - [ErrTooLarge]: the result is too large
//   - [ErrInvalid]: the result does not encode
//   - [ErrRunExists]: the chosen ID of the child is taken
//   - [ErrNotFound]: the awaited run, or the receiver of a send, is unknown
//   - [ErrTerminal]: the receiver of a send is over
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

// RunError means that a run failed or was cancelled.
type RunError struct {
	Run, Workflow string // run ID, and name of its workflow
	Cancelled     bool   // false: it failed
	// Message is that of the error that the workflow returned. It is "" if the run was cancelled
	// before its code began.
	Message string
	Code    string // as in [StepError]
	Where   string // file:line, as in [StepError]
	By      string // who cancelled it; "": it failed, or its log is unreadable
	err     error
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

// Is matches [ErrCancelled] if the run was cancelled, and [ErrTimeout] if it took longer than its
// [Timeout].
func (e *RunError) Is(target error) bool {
	if target == ErrTimeout {
		return !e.Cancelled && e.Code == world.CodeTimeout
	}
	return target == ErrCancelled && e.Cancelled
}

// Unwrap returns the recorded error of the workflow.
func (e *RunError) Unwrap() error { return e.err }

// ItemError is the error of one item of a [Map].
type ItemError struct {
	Index int   // index in the items, from 0
	Err   error // the error of the item's function
}

func (e *ItemError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap returns the item's error.
func (e *ItemError) Unwrap() error { return e.Err }
