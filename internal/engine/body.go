package engine

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/stepwell/stepwell/world"
)

// StepInfo is what a step's body can know of itself: see [Info].
type StepInfo struct {
	Run            string // run ID
	Workflow       string
	Step           string // correlation ID of the step, the same on every attempt
	Name           string
	Attempt        int    // from 1
	IdempotencyKey string // the same on every attempt, and for no other step: hand it to whatever the step calls
}

type infoKey struct{}

// Info tells a step's body who it is. Outside a step it is zero.
func Info(ctx context.Context) StepInfo {
	if p, ok := ctx.Value(infoKey{}).(*seat); ok {
		return p.info
	}
	return StepInfo{}
}

// body is one attempt of a step that runs.
type body struct {
	step    string // correlation ID
	task    *world.Task
	attempt int
	started time.Time
	cancel  context.CancelCauseFunc
	policy  Policy
	suspect bool // the worker's only one
	died    bool // an earlier attempt did, with its process
	grace   bool // its step was ended without it: cancelled, and it did not return in time
	parked  bool // a suspect that waits for another run: its attempt was given up in the log, and begins anew before it goes on
	seat    *seat
}

// result is what an attempt came to.
type result struct {
	payload []byte
	err     error
	cause   error // why the attempt's context ended, if it did before the body returned
	at      time.Time
	slot    bool     // the body held a step slot when it returned
	turn    bool     // and was the only suspect
	tx      world.Tx // what the body wrote, to be committed with the end of the step; nil: none
}

// attempt runs fn with the context of an attempt and tells whatever it comes to, panics and Goexit included: done is always called,
// once, on this goroutine.
func attempt(ctx context.Context, place *seat, timeout time.Duration, fn func(context.Context) ([]byte, error), done func(result)) {
	ctx = context.WithValue(ctx, infoKey{}, place)
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, ErrTimeout)
		defer stop()
	}
	place.ended = ctx.Done
	var r result
	returned := false
	defer func() {
		if !returned {
			r = result{err: &bodyPanic{value: recover(), stack: debug.Stack()}}
		} else if r.err != nil && context.Cause(ctx) == ErrTimeout {
			r.err = &timeoutError{after: timeout, err: r.err}
		}
		r.cause = context.Cause(ctx)
		r.slot, r.turn = place.leave()
		done(r)
	}()
	r.payload, r.err = fn(ctx)
	if r.err != nil { // its methods are the author's code too: where they panic, they do it here
		_, _ = retryAfter(r.err)
		_ = isFatal(r.err)
	}
	returned = true
}

// timeoutError is the failure of an attempt whose time was up.
type timeoutError struct {
	after time.Duration
	err   error
}

func (e *timeoutError) Error() string {
	return "timed out after " + e.after.String() + ": " + e.err.Error()
}

// Unwrap returns what the body returned.
func (e *timeoutError) Unwrap() error { return e.err }

// Code is the failure's code in the log.
func (e *timeoutError) Code() string { return world.CodeTimeout }
