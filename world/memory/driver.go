package memory

// Opening by URL: memory: is a new, empty world each time.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

func init() { world.Register("memory", opener{}) }

type opener struct{}

// Open returns an empty world; see [world.Driver].
func (opener) Open(_ context.Context, _ string, o world.OpenOptions) (world.World, error) {
	return New(Options{KeepDeliveries: o.KeepDeliveries}), nil
}
