package kit

import (
	"reflect"

	"github.com/stepwell/stepwell/world"
)

// QueueLimits names the limits of a queue, which are stepwell.Limit, whose payloads have a type, and makes what computes
// their keys, by the names of the limits. The root package sets it.
var QueueLimits func(queue string, in reflect.Type, all []any) (said []world.SaidLimit, keys func(payload []byte) (map[string]string, error), err error)
