package stepwell

// Steps from functions that are there already.

import (
	"context"

	"github.com/stepwell/stepwell/internal/engine"
)

// Call runs fn with in as a step and returns its result. It is [Step] for an existing function. The
// log records the name, not the function or its input. The input need not encode as JSON, and a
// Step and a Call of the same name can replace each other while runs are live.
//
//	receipt, err := stepwell.Call(ctx, "charge", bank.Charge, order)
//
// fn can call [Info]. For a second argument use a struct, or a closure with [Step]. If the parameter
// of fn is an interface, convert the argument: io.Reader(buf). A method value of a nil interface
// panics in the workflow's code, not in the step.
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
