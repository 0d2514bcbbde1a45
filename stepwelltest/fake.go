package stepwelltest

// This file holds fakes: what runs in the place of steps' bodies.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// fake is a body with its recorded input, nil for a closure.
type fake func(ctx context.Context, input json.RawMessage) (any, error)

// Return is the result of a step, closure or registered, at each of its attempts. Out must encode as what the step
// returns.
//
//	stepwelltest.Return(env, "charge", Receipt{ID: "r1"})
func Return[Out any](e *Env, step string, out Out) {
	e.t.Helper()
	e.setFake(step, func(context.Context, json.RawMessage) (any, error) { return out, nil })
}

// Fail lets each attempt of a step end with an error, with a result or without. The step is tried again as its
// [stepwell.Retry] says; it ends at once with an error that is [stepwell.Fatal].
func (e *Env) Fail(step string, err error) {
	e.t.Helper()
	if err == nil {
		e.t.Fatalf("step %q is to fail without an error", step)
	}
	e.setFake(step, func(context.Context, json.RawMessage) (any, error) { return nil, err })
}

// Fake is for a step that behaves differently from attempt to attempt, or whose calls the test wants to see: fn runs in
// the place of its body, with the step's context. Out must encode as what the step returns; of a step without a result
// it is struct{}. A fake asks [stepwell.Info] for the attempt rather than count, as [Env.CrashEverywhere] runs it again.
func Fake[Out any](e *Env, step string, fn func(ctx context.Context) (Out, error)) {
	e.t.Helper()
	e.setFake(step, func(ctx context.Context, _ json.RawMessage) (any, error) { return fn(ctx) })
}

// FakeStep is [Fake] for a registered step. fn gets the input as it was recorded.
func FakeStep[In, Out any](e *Env, step *stepwell.RegisteredStep[In, Out], fn func(ctx context.Context, in In) (Out, error)) {
	e.t.Helper()
	e.setFake(step.Name(), func(ctx context.Context, input json.RawMessage) (any, error) {
		var in In
		if err := codec.Decode(input, &in); err != nil {
			return nil, stepwell.Fatal(fmt.Errorf("the recorded input does not fit: %w", err))
		}
		return fn(ctx, in)
	})
}

func (e *Env) setFake(step string, f fake) {
	e.t.Helper()
	if err := world.CheckName("step name", step); err != nil {
		e.t.Fatalf("fake: %v", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fakes[step] = f
}

// body runs in the place of all bodies.
func (e *Env) body(ctx context.Context, input []byte, own kit.RealBody) ([]byte, error) {
	name := stepwell.Info(ctx).Name
	e.mu.Lock()
	f := e.fakes[name]
	e.asked[name] = true
	e.mu.Unlock()
	defer e.inOrder()
	var v any = struct{}{}
	var err error
	switch {
	case f != nil:
		v, err = f(ctx, input)
	case e.options.RealSteps:
		return own.Run(ctx, input)
	case own.Out != reflect.TypeFor[struct{}]():
		err = stepwell.Fatal(e.lacks(name, own.Out))
	}
	if err != nil {
		return nil, err
	}
	b, err := codec.Encode(v, codec.DefaultLimit)
	if err != nil {
		return nil, stepwell.Fatal(fmt.Errorf("result of the fake: %w", err))
	}
	return b, nil
}

// lacks is the error of a step that needs a fake, the same at each of its attempts, in each life.
func (e *Env) lacks(step string, out reflect.Type) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.lacking[step]; err != nil {
		return err
	}
	text := fmt.Sprintf("step %q has a result, and the test does not say which. Add:\n\tstepwelltest.Return(env, %q, …) // %s", step, step, out)
	if unused := e.notAsked(); unused != "" {
		text += "\nFakes that no step has used so far: " + unused
	}
	err := errors.New(text)
	e.lacking[step] = err
	e.untold = append(e.untold, err)
	return err
}

// report fails the test for each step that needed a fake.
func (e *Env) report() {
	e.t.Helper()
	e.mu.Lock()
	untold := e.untold
	e.untold = nil
	e.mu.Unlock()
	for _, err := range untold {
		e.t.Errorf("%v", err)
	}
}

// unused tells of fakes that no step used, where the test has failed: a helper may fake for all tests. They fail a test
// in which steps ran their own bodies, as those may be the steps that they were meant for.
func (e *Env) unused() {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	unused, real := e.notAsked(), e.real()
	switch {
	case unused == "":
	case real != "":
		e.t.Errorf("fakes that no step used: %s; steps that ran their own bodies: %s", unused, real)
	case e.t.Failed():
		e.t.Logf("fakes that no step used: %s", unused)
	}
}

// notAsked lists the fakes that no step has used. It is called with mu.
func (e *Env) notAsked() string {
	return quoted(e.fakes, func(fake string) bool { return !e.asked[fake] })
}

// real lists the steps that ran their own bodies. It is called with mu.
func (e *Env) real() string {
	return quoted(e.asked, func(step string) bool { return e.options.RealSteps && e.fakes[step] == nil })
}

func quoted[V any](names map[string]V, which func(name string) bool) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if which(name) {
			list = append(list, strconv.Quote(name))
		}
	}
	return strings.Join(list, ", ")
}

// inOrder puts what bodies do and what the test does in an order that the race detector sees: nothing else does across a clock
// that is not real.
func (e *Env) inOrder() {
	e.mu.Lock()
	defer e.mu.Unlock()
}
