package remote

// This file opens servers by their URL.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

func init() {
	world.Register("http", driver{})
	world.Register("https", driver{})
}

type driver struct{}

// Open opens the world of the server at a URL; see [Open]. A server makes its own database: o.Existing changes nothing.
func (driver) Open(ctx context.Context, url string, _ world.OpenOptions) (world.World, error) {
	w, err := Open(ctx, url)
	if err != nil {
		return nil, err // not a World that is nil
	}
	return w, nil
}
