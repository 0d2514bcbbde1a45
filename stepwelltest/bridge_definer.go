package stepwelltest

// This file has what definitions say go over the bridge.

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

func (w *bridged) Define(ctx context.Context, all []world.Definition) error {
	return nothing(outside(ctx, w.b, func(ctx context.Context) (struct{}, error) { return struct{}{}, w.able.Definer.Define(ctx, all) }))
}

func (w *bridged) Defined(ctx context.Context, workflows []string) (world.Defined, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Defined, error) { return w.able.Definer.Defined(ctx, workflows) })
}

func (w *bridged) Schemas(ctx context.Context, of world.Class) (json.RawMessage, error) {
	return outside(ctx, w.b, func(ctx context.Context) (json.RawMessage, error) { return w.able.Definer.Schemas(ctx, of) })
}

func (w *bridged) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	both, err := outside(ctx, w.b, func(ctx context.Context) (both [2]time.Duration, err error) {
		both[0], both[1], err = w.able.Definer.LimitRetention(ctx, limit, raise)
		return both, err
	})
	return both[0], both[1], err
}
