package stepwell

// Steps from functions that are there already.

import (
	"context"

	"github.com/stepwell/stepwell/internal/engine"
)

// Call runs fn with in as a step, and returns its result: [Step] for a function that you have. The name is recorded, fn and
// in are not, so in need not be JSON, and Step and Call of one name can replace each other in code with live runs.
//
//	receipt, err := stepwell.Call(ctx, "charge", bank.Charge, order)
//
// An argument for a parameter of an interface type needs that type: io.Reader(buf). A second argument is a field of a
// struct, or a closure: see [Step]. fn finds its idempotency key by [Info]. A method value on a nil interface panics where
// it is written, in the workflow's code, and not in the step.
func Call[In, Out any](ctx Context, name string, fn func(ctx context.Context, in In) (Out, error), in In, opts ...StepOption) (Out, error) {
	if fn == nil {
		return Step[Out](ctx, name, nil, opts...)
	}
	return Step(ctx, name, func(ctx context.Context) (Out, error) {
		out, err := fn(ctx, in)
		if err != nil {
			engine.FailedIn(ctx, fn)
		}
		return out, err
	}, opts...)
}

// Exec is [Call] for a function without a result.
func Exec[In any](ctx Context, name string, fn func(ctx context.Context, in In) error, in In, opts ...StepOption) error {
	if fn == nil {
		return Do(ctx, name, nil, opts...)
	}
	_, err := Step(ctx, name, func(ctx context.Context) (struct{}, error) {
		err := fn(ctx, in)
		if err != nil {
			engine.FailedIn(ctx, fn)
		}
		return struct{}{}, err
	}, opts...)
	return err
}
