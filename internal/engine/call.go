package engine

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// call is one attempt's call of a step's function. What it needs and what it comes to lie here and not in the frames of the goroutine that runs it: these fit the
// stack that a goroutine begins with, which would else be copied to a larger one for each step.
type call struct {
	ctx     stepContext
	seat    seat
	timeout time.Duration // 0: none
	silence time.Duration // without a heartbeat; 0: any
	run     bodyFunc
	input   []byte
	policy  *Policy
	ends    ender
	result  result
	tx      world.Tx        // what run wrote, where that is to be committed with the step's end
	machine *replay.Machine // whose code asked for it; nil: a task
	done    bool            // run has returned, and so have the methods of its error

	watching *watching // the Observer's part; nil: it has none
}

// whole has a step's function called with the value that its recorded input refers to; "": with the input.
func whole(e *Engine, fn bodyFunc, run, apart string) bodyFunc {
	if apart == "" {
		return fn
	}
	return func(ctx context.Context, input []byte) ([]byte, error) {
		input, err := e.cfg.Whole(ctx, run, input, apart)
		if err != nil {
			return nil, &inputError{err}
		}
		return fn(ctx, input)
	}
}

// inputError is why the recorded input of a step could not be had: its function was not called.
type inputError struct{ err error }

func (e *inputError) Error() string { return "the input of the step: " + e.err.Error() }

// Unwrap returns what is behind it.
func (e *inputError) Unwrap() error { return e.err }

// damagedInput is the error of an input that is not what was recorded; nil: that is not why the attempt has failed.
func damagedInput(err error) error {
	if of := (*inputError)(nil); errors.As(err, &of) && errors.Is(of.err, world.ErrCorrupt) {
		return of.err
	}
	return nil
}

// bodyFunc is a step's function: a closure, or the registered one with its recorded input.
type bodyFunc = func(ctx context.Context, input []byte) ([]byte, error)

// ender is told what an attempt came to, once, on the goroutine of the attempt.
type ender interface{ end(r *result) }

// result is what an attempt came to.
type result struct {
	payload []byte
	err     error  // an author's is as the log keeps it: see told
	told    *Told  // by an author's error; nil: it is none
	obeyed  bool   // an author's error says no more than that the context ended
	where   string // err came from, as file:line, as far as is known
	cause   error  // why the attempt's context ended, if it did before the body returned
	at      time.Time
	slot    bool                // the body held a step slot when it returned
	alone   bool                // it had the place in quarantine
	tx      world.Tx            // what the body wrote, to be committed with the end of the step; nil: none
	streams []world.StreamWrite // the rest of what it wrote to streams, to be committed with the end of the attempt
}

// asked is what the attempt's error says, an author's or another.
func (r *result) asked(p Policy) *Told {
	if r.told != nil {
		return r.told
	}
	return p.Ask(r.err)
}

// make runs the function with the context of an attempt and tells whatever it comes to, panics and Goexit included.
func (c *call) make() {
	if c.timeout > 0 || c.silence > 0 {
		c.makeTimed()
		return
	}
	defer c.close(&c.ctx)
	c.body(&c.ctx)
}

func (c *call) makeTimed() {
	ctx := context.Context(&c.ctx)
	if c.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
		defer stop()
	}
	if c.silence > 0 {
		c.watchSilence()
	}
	defer c.close(ctx)
	c.body(ctx)
}

func (c *call) body(ctx context.Context) {
	c.seat.ctx = ctx
	if c.watching != nil {
		ctx = c.watching.begin(c.seat.e, ctx)
	}
	r := &c.result
	r.payload, r.err = c.run(ctx, c.input)
	if r.err != nil {
		c.ask(ctx)
	}
	c.done = true
}

// ask puts what the log keeps of an author's error in its place. Its methods are the author's code too: where they panic, or take long, they do it here.
func (c *call) ask(ctx context.Context) {
	r := &c.result
	if _, own := r.err.(*inputError); own {
		return
	}
	why := cause(ctx)
	r.told = c.policy.Ask(r.err)
	r.obeyed = codec.Is(r.err, context.Canceled) || why != nil && codec.Is(r.err, why)
	r.err = c.seat.e.record(r.err, "")
}

// close tells what the attempt came to. It is deferred, and recovers.
func (c *call) close(ctx context.Context) {
	r := &c.result
	if !c.done {
		r.payload, r.err, r.told = nil, panicked(recover()), nil
	}
	if r.err != nil {
		r.where = c.seat.failedIn
	}
	made := c.finish()
	r.cause = cause(ctx)
	late := func(err error) error { return err }
	switch {
	case !c.done || r.err == nil:
	case r.cause == ErrTimeout:
		late = func(err error) error { return &timeoutError{after: c.timeout, err: err} }
	case r.cause == ErrHeartbeat:
		late = func(err error) error { return &silentError{after: c.silence, err: err} }
	}
	r.err = late(r.err)
	seen := r.err
	if r.told != nil {
		seen = late(r.told.Err)
	}
	if c.machine != nil {
		if err := c.machine.Misused(c.seat.info.Name); err != nil { // nothing that it came to counts
			r.payload, r.err, r.told = nil, err, nil
			seen = err
		}
	}
	if c.watching != nil {
		c.watching.over(c.seat.e, seen)
	}
	r.slot, r.alone = c.seat.leave()
	made = unnamed(made, r)
	c.ends.end(r)
	if len(made) > 0 {
		dropValues(c.seat.e, c.seat.info.Run, made)
	}
}

// finish ends the streams of a body that has returned, and tells which values it has kept apart. One that came to a
// value, though what it wrote could not be made durable, has failed.
func (c *call) finish() (made []string) {
	c.seat.mu.Lock()
	c.seat.returned = true
	all, pr := c.seat.streams, c.seat.progress
	made = c.seat.made
	c.seat.mu.Unlock()
	r := &c.result
	if all != nil {
		rest, err := all.finish()
		if r.streams = rest; r.err == nil && err != nil {
			r.payload, r.err = nil, err
		}
	}
	if pr != nil {
		r.streams = append(r.streams, pr.finish(r.err != nil)...)
	}
	return made
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
