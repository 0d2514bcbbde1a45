package kit

// Limits of workflows, as package limit makes them and the root package keeps them.

import (
	"reflect"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Limit is how many runs of a workflow may be at work at once, or begin in a period.
type Limit struct {
	Name     string // "": that of the workflow
	Number   int
	UntilEnd bool
	Per      time.Duration                      // of a rate; 0: it is none
	Burst    int                                // of a rate
	Refuse   bool                               // of a rate
	Weights  map[string]int                     // of keys; nil: all have the same
	Single   world.Single                       // of the one live run of a key; its name and number are given
	Path     string                             // of the key, in the input's JSON; "": there is none
	In       reflect.Type                       // of the input that Of takes; nil: there is no Of
	Of       func(input []byte) (string, error) // makes the key
	Fault    error
}

// NewLimit makes a stepwell.WorkflowOption. The root package sets it.
var NewLimit func(l Limit) any

// Defining is a queue, as the options of its definition make it.
type Defining struct {
	world.MessageQueue
	Limited []Limit
}

// QueueLimits names the limits of a queue whose payloads have a type, and makes what computes their keys, by the names
// of the limits. The root package sets it.
var QueueLimits func(queue string, in reflect.Type, all []Limit) (said []world.SaidLimit, keys func(payload []byte) (map[string]string, error), err error)
