// Package kit is the door through which stepwelltest changes an App (what runs in the place of steps' bodies, and what costs
// virtual time) and tests reach the code of a workflow. The root package opens it; its own API shows nothing of it.
package kit

import (
	"context"
	"reflect"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
)

// Overrides is what an App of a test does otherwise. The zero value changes nothing.
type Overrides struct {
	// Body runs in the place of each attempt of each step; real is the step's own body.
	Body func(ctx context.Context, input []byte, real RealBody) ([]byte, error)
	// Stall is how long workflow code may go on without yielding before it is reported. 0: the default.
	Stall time.Duration
	// Unread is how many payloads a run may keep that no wait has taken. 0: the default.
	Unread int
	// Apart is how many bytes a value may have that is not kept apart from the log. 0: the default.
	Apart int
}

// Together reports whether bodies can run in transactions that commit with their results: what runs in their place does not need one.
func (r *Overrides) Together() bool { return r.Body == nil }

// Body is what a step does: from its recorded input, nil for a closure, to its encoded result.
type Body func(ctx context.Context, input []byte) ([]byte, error)

// RealBody is a step's own body.
type RealBody struct {
	Run Body
	Out reflect.Type // of the result; struct{}: it has none
}

// Wrap returns what runs in the place of a body whose result is an Out.
func Wrap[Out any](r *Overrides, real Body) Body {
	if r.Body == nil {
		return real
	}
	own := RealBody{real, reflect.TypeFor[Out]()}
	return func(ctx context.Context, input []byte) ([]byte, error) { return r.Body(ctx, input, own) }
}

// Set gives a rig to a *stepwell.Config. The root package sets it.
var Set func(config any, r Overrides)

// Code is the code of a workflow, a stepwell.Definition, as a machine evaluates it: a body for an encoded input. The root
// package sets it.
var Code func(definition any) (func(input []byte) replay.Body, error)
