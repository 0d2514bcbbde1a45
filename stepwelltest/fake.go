package stepwelltest

// This file holds fakes: what runs in the place of steps' bodies.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// Fake replaces the bodies of all steps with a name that workflows write as closures, [stepwell.Step] and [stepwell.Do]: fn runs in
// their place, under their retry policy, and what it returns is recorded as theirs. Out must encode as what the step returns; for Do
// it is struct{}, or see [FakeDo]. A fake that is to behave differently from attempt to attempt asks [stepwell.Info], rather than
// count: [Env.CrashEverywhere] runs it again.
func Fake[Out any](e *Env, step string, fn func(ctx context.Context) (Out, error)) {
	e.setFake(step, func(ctx context.Context, _ json.RawMessage) (any, error) { return fn(ctx) })
}

// FakeDo is [Fake] for steps without a result.
func FakeDo(e *Env, step string, fn func(ctx context.Context) error) {
	e.setFake(step, func(ctx context.Context, _ json.RawMessage) (any, error) { return struct{}{}, fn(ctx) })
}

// FakeStep replaces the body of a registered step. fn gets the input as it was recorded.
func FakeStep[In, Out any](e *Env, step *stepwell.RegisteredStep[In, Out], fn func(ctx context.Context, in In) (Out, error)) {
	e.setFake(step.Name(), func(ctx context.Context, input json.RawMessage) (any, error) {
		var in In
		if err := codec.Decode(input, &in); err != nil {
			return nil, stepwell.Fatal(fmt.Errorf("the recorded input does not fit: %w", err))
		}
		return fn(ctx, in)
	})
}

// FakesOnly lets steps that have no fake fail, instead of running their own bodies.
func (e *Env) FakesOnly() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.own = false
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
func (e *Env) body(ctx context.Context, input []byte, real kit.Body) ([]byte, error) {
	name := stepwell.Info(ctx).Name
	e.mu.Lock()
	f, own := e.fakes[name], e.own
	e.ran[name] = true
	e.mu.Unlock()
	defer e.inOrder()
	switch {
	case f == nil && own:
		return real(ctx, input)
	case f == nil:
		return nil, stepwell.Fatal(fmt.Errorf("step %q has no fake, and this test allows only fakes", name))
	}
	v, err := f(ctx, input)
	if err != nil {
		return nil, err
	}
	b, err := codec.Encode(v, codec.DefaultLimit)
	if err != nil {
		return nil, stepwell.Fatal(fmt.Errorf("result of the fake: %w", err))
	}
	return b, nil
}

// misspelt looks for fakes that no step used, where a step with nearly such a name ran its own body.
// Other fakes that nobody used are told of if the test has failed: helpers may fake for all tests.
func (e *Env) misspelt() {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	var unused []string
	for _, fake := range slices.Sorted(maps.Keys(e.fakes)) {
		if e.ran[fake] {
			continue
		}
		unused = append(unused, strconv.Quote(fake))
		for _, step := range slices.Sorted(maps.Keys(e.ran)) {
			if e.own && e.fakes[step] == nil && alike(fake, step) {
				e.t.Errorf("no step used the fake %q, and step %q, which has none, ran its own body: is the name misspelt?", fake, step)
			}
		}
	}
	if len(unused) > 0 && e.t.Failed() {
		e.t.Logf("fakes that no step used: %s", strings.Join(unused, ", "))
	}
}

// alike reports whether two names differ by letters' case and signs between words, or, of names of
// four letters or more, by two letters at most.
func alike(a, b string) bool {
	flat := func(s string) []rune {
		return slices.DeleteFunc([]rune(strings.ToLower(s)), func(r rune) bool { return strings.ContainsRune("-_. /", r) })
	}
	x, y := flat(a), flat(b)
	row := make([]int, len(y)+1) // edits from what was read of x to each beginning of y
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		before := row[0]
		row[0] = i + 1
		for j, s := range y {
			edits := before
			if r != s {
				edits = min(before, row[j], row[j+1]) + 1
			}
			before, row[j+1] = row[j+1], edits
		}
	}
	edits := row[len(y)]
	return edits == 0 || edits <= 2 && min(len(x), len(y)) >= 4
}

// inOrder puts what bodies do and what the test does in an order that the race detector sees: nothing else does across a clock
// that is not real.
func (e *Env) inOrder() {
	e.mu.Lock()
	defer e.mu.Unlock()
}
