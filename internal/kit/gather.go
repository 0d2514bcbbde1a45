package kit

// Workflows whose starts are gathered into one run, as package flow makes them and the root package keeps them.

import (
	"reflect"
	"time"
)

// Gather is a debounce, which has a Quiet, or a batch.
type Gather struct {
	Quiet  time.Duration
	Most   time.Duration // from the first input on
	Number int           // of a batch
	Path   string        // of the key, in an input's JSON; "": there is none
	In     reflect.Type  // of the input that Of takes; nil: there is no Of
	Of     func(input []byte) (string, error)
	Fault  error
}

// Gathers reports whether starts of a *stepwell.Workflow are merged. The root package sets it.
var Gathers func(workflow any) bool

// NewGather makes a stepwell.WorkflowOption. The root package sets it.
var NewGather func(g Gather) any
