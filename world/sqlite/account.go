package sqlite

// This file tells a worker what it holds.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Held lists what a worker owns; see [world.Queue].
func (w *World) Held(ctx context.Context, worker string) (world.Account, error) {
	if err := w.know(ctx, worker); err != nil {
		return world.Account{}, err
	}
	return askFor(ctx, w, true, func(g *group) (world.Account, error) {
		wk := g.workers.alive(worker)
		if wk == nil {
			return world.Account{}, fmt.Errorf("worker %s: %w", worker, world.ErrLeaseLost)
		}
		a, err := g.workers.account(wk)
		if err != nil {
			return world.Account{}, err
		}
		return *a, nil
	})
}
