package stepwell

// The library's own errors are found by errors.Is and errors.As after a replay, and in the error of a run, as before.

import (
	"errors"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

func init() {
	for name, err := range map[string]error{
		"stepwell.ErrCancelled": ErrCancelled, "stepwell.ErrNoKey": ErrNoKey, "stepwell.ErrWrongKey": ErrWrongKey, "stepwell.ErrWorkerExists": ErrWorkerExists,
		"stepwell.ErrLeaseLost": ErrLeaseLost, "stepwell.ErrDraining": ErrDraining, "stepwell.ErrRunOver": ErrRunOver,
		"stepwell.ErrTimeout": ErrTimeout, "stepwell.ErrHeartbeat": ErrHeartbeat, "stepwell.ErrNotStarted": ErrNotStarted, "stepwell.ErrFull": ErrFull, "stepwell.ErrClosed": ErrClosed,
		"stepwell.ErrStreamClosed": ErrStreamClosed, "stepwell.ErrDeliveryUsed": ErrDeliveryUsed, "stepwell.ErrAnswered": ErrAnswered,
		"engine.ErrScope": engine.ErrScope, "engine.ErrScopeTimeout": engine.ErrScopeTimeout, "engine.ErrRunTimeout": engine.ErrRunTimeout,
		"world.ErrTooEarly": world.ErrTooEarly, "world.ErrUnknownOutcome": world.ErrUnknownOutcome, "world.ErrCorrupt": world.ErrCorrupt,
		"world.ErrFormat": world.ErrFormat, "world.ErrUnfit": world.ErrUnfit, "world.ErrStorage": world.ErrStorage,
	} {
		codec.Own(name, err)
	}
	codec.OwnType(func(e *StepError) *StepError { return &StepError{Step: e.Step} }, func(e *StepError, rec *world.Error, causes []error) *StepError {
		rec, e.err = cause(rec, causes)
		e.Message, e.Code, e.Where, e.Stack, e.Permanent, e.record = rec.Message, rec.Code, rec.Where, rec.Stack, rec.Permanent, rec
		return e
	})
	codec.OwnType(func(e *RunError) *RunError {
		return &RunError{Run: e.Run, Workflow: e.Workflow, Cancelled: e.Cancelled, By: e.By}
	}, func(e *RunError, rec *world.Error, causes []error) *RunError {
		if len(causes) > 0 { // else it was cancelled, and its code said nothing about it
			rec, e.err = cause(rec, causes)
			e.Message, e.Code, e.Where = rec.Message, rec.Code, rec.Where
		}
		return e
	})
	codec.OwnType(func(e *UndoError) *UndoError { return &UndoError{Undo: e.Undo} }, func(e *UndoError, rec *world.Error, causes []error) *UndoError {
		_, e.Err = cause(rec, causes)
		return e
	})
	codec.OwnType(func(e *ItemError) *ItemError { return &ItemError{Index: e.Index} }, func(e *ItemError, rec *world.Error, causes []error) *ItemError {
		_, e.Err = cause(rec, causes)
		return e
	})
	codec.OwnType(func(e *PayloadError) *PayloadError { return &PayloadError{Of: e.Of, Seq: e.Seq} }, func(e *PayloadError, rec *world.Error, causes []error) *PayloadError {
		_, e.Err = cause(rec, causes)
		return e
	})
	codec.OwnType(asItIs[*StreamError], func(e *StreamError, rec *world.Error, causes []error) *StreamError {
		if len(causes) > 0 {
			_, e.err = cause(rec, causes)
		}
		return e
	})
	codec.OwnType(asItIs[*HookConflictError], alone)
	codec.OwnType(asItIs[*RetryRefusedError], alone)
	codec.OwnType(asItIs[*DivergedError], alone)
	codec.OwnType(asItIs[*world.KeyError], alone)
}

func asItIs[T any](v T) T { return v }

func alone[T any](v T, _ *world.Error, _ []error) T { return v }

// cause is what an error of one cause wraps, as it was recorded, and as it is again. One that was cut away has left its text.
func cause(rec *world.Error, causes []error) (*world.Error, error) {
	if len(causes) == 0 || len(rec.Causes) == 0 || rec.Causes[0] == nil {
		return rec, errors.New(rec.Message)
	}
	return rec.Causes[0], causes[0]
}
