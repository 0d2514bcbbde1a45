package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"
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

// isFatal reports whether a retry would not help: said so, anywhere in the tree of causes, or by a method Permanent() bool.
func isFatal(err error) bool {
	switch e := err.(type) {
	case *FatalError:
		return true
	case interface{ Permanent() bool }:
		if e.Permanent() {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return isFatal(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), isFatal)
	}
	return false
}

func retryAfter(err error) (time.Duration, bool) {
	var r *RetryError
	if errors.As(err, &r) {
		return max(r.After, 0), true
	}
	return 0, false
}

// bodyPanic is a panic of a step's body.
type bodyPanic struct {
	value any
	stack []byte
}

func (p *bodyPanic) Error() string {
	if p.value == nil {
		return "the step called runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v", p.value)
}

// Code is the panic's code in the log.
func (p *bodyPanic) Code() string { return "PANIC" }
