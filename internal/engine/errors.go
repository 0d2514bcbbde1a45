package engine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
)

// Causes of a step's cancelled context, read with context.Cause.
var (
	// ErrCancelled: the run was cancelled.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrRunOver: the run ended while the step was running.
	ErrRunOver = errors.New("the run is over")
	// ErrDraining: the worker shuts down.
	ErrDraining = errors.New("the worker is shutting down")
	// ErrScope: the part of the workflow that asked for the step goes on without it.
	ErrScope = errors.New("the workflow no longer waits for this step")
	// ErrScopeTimeout: the same, as the time of that part is up.
	ErrScopeTimeout error = scopeTimeout{}
	// ErrTimeout: the attempt took longer than its timeout.
	ErrTimeout = errors.New("the attempt took longer than its timeout")
)

type scopeTimeout struct{}

func (scopeTimeout) Error() string { return "the part of the workflow took longer than its timeout" }

// Is matches ErrTimeout, and ErrCancelled, as the part is cancelled for it.
func (scopeTimeout) Is(target error) bool { return target == ErrTimeout || target == ErrCancelled }

// FatalError ends a step at once: no further attempt.
type FatalError struct {
	Err error
	At  uintptr // where it was made, if that is known: see [Caller]
}

func (e *FatalError) Error() string { return e.Err.Error() }

// Permanent reports that a retry would not help.
func (e *FatalError) Permanent() bool { return true }

// Where is the place where it was made, as file:line.
func (e *FatalError) Where() string { return Place(e.At) }

// Unwrap returns the error that is fatal.
func (e *FatalError) Unwrap() error { return e.Err }

// RetryError asks for the next attempt after a delay of its own.
type RetryError struct {
	Err   error
	After time.Duration
	At    uintptr // where it was made, if that is known: see [Caller]
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Where is the place where it was made, as file:line.
func (e *RetryError) Where() string { return Place(e.At) }

// Unwrap returns the error behind it.
func (e *RetryError) Unwrap() error { return e.Err }

// Told is what an author's error says of the attempt that it ended. It is an error itself, none of whose methods is the author's.
type Told struct {
	Err       error         // the author's; its causes come to an end
	Text      string        // its message
	Permanent bool          // a retry would not help: said so, anywhere in the tree of causes, or by a method Permanent() bool
	Final     bool          // Permanent, or the policy says so
	Contended bool          // the database refused the transaction of the attempt, which is not to blame
	After     time.Duration // until the next attempt; less than 0: as the policy says
}

func (t *Told) Error() string { return t.Text }

// Ask calls the methods of an author's error, once: they may panic, take long and return what they did not before. It is for where the
// author's code runs.
func (p Policy) Ask(err error) *Told {
	t := &Told{Err: codec.Finite(err, nil), Text: codec.Message(err), After: -1}
	for e := range codec.Tree(err) {
		if permanent, ok := e.(interface{ Permanent() bool }); ok && permanent.Permanent() {
			t.Permanent = true
		}
	}
	if r, ok := codec.As[*RetryError](err); ok {
		t.After = max(r.After, 0)
	}
	t.Contended = p.Tx && contended(err)
	t.Final = t.Permanent || p.Final != nil && p.Final(err)
	return t
}

// bodyPanic is a panic of a step's body.
type bodyPanic struct {
	text  string
	stack []byte
}

// panicked is the error of a body that panicked with a value; nil: it called Goexit.
func panicked(value any) *bodyPanic {
	p := &bodyPanic{"the step called runtime.Goexit", debug.Stack()}
	if value != nil {
		p.text = fmt.Sprintf("panic: %v", value)
	}
	return p
}

func (p *bodyPanic) Error() string { return p.text }

// Code is the panic's code in the log.
func (p *bodyPanic) Code() string { return "PANIC" }
