package sqlite

// This file tells a worker what it holds.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

var _ world.Holder = (*World)(nil)

// Held lists what a worker owns; see [world.Holder]. It stands in the line of all that is written, and this process alone gives anything to its workers: takes
// that were asked for before are over.
func (w *World) Held(ctx context.Context, worker string) (world.Held, error) {
	if err := w.know(ctx, worker); err != nil {
		return world.Held{}, err
	}
	return askFor(ctx, w, true, func(g *group) (h world.Held, err error) {
		wk := g.workers.alive(worker)
		if wk == nil {
			return h, fmt.Errorf("worker %s: %w", worker, world.ErrLeaseLost)
		}
		return g.workers.held(wk)
	})
}
