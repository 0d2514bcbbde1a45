package stepwelltest

// This file has what keeps runs from beginning go over the bridge.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Starts knows what keeps runs from beginning; see [world.StartKeeper].
func (w *bridged) Starts() world.Starter { return bridgedStarts{w, w.able.StartKeeper.Starts()} }

type bridgedStarts struct {
	w     *bridged
	below world.Starter
}

func (s bridgedStarts) act(ctx context.Context, f func(ctx context.Context) error) error {
	_, err := change(ctx, s.w, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (s bridgedStarts) Hold(ctx context.Context, h world.Hold) error {
	return s.act(ctx, func(ctx context.Context) error { return s.below.Hold(ctx, h) })
}

func (s bridgedStarts) Release(ctx context.Context, workflow string) error {
	return s.act(ctx, func(ctx context.Context) error { return s.below.Release(ctx, workflow) })
}

func (s bridgedStarts) Holds(ctx context.Context) ([]world.Hold, error) {
	return outside(ctx, s.w.b, s.below.Holds)
}

// Settle changes nothing that anybody waits for, as a rule: who looks again each time that something changes calls it.
func (s bridgedStarts) Settle(ctx context.Context) (time.Duration, error) {
	return outside(ctx, s.w.b, s.below.Settle)
}

func (s bridgedStarts) Lapsing(ctx context.Context) (world.Lapsing, error) {
	return outside(ctx, s.w.b, s.below.Lapsing)
}
