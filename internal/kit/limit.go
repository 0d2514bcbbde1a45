package kit

// Limits of workflows, as package limit makes them and the root package keeps them.

import "reflect"

// Limit is how many runs of a workflow may be at work at once.
type Limit struct {
	Name     string // "": that of the workflow
	Number   int
	UntilEnd bool
	Path     string                             // of the key, in the input's JSON; "": there is none
	In       reflect.Type                       // of the input that Of takes; nil: there is no Of
	Of       func(input []byte) (string, error) // makes the key
	Fault    error
}

// NewLimit makes a stepwell.WorkflowOption. The root package sets it.
var NewLimit func(l Limit) any
