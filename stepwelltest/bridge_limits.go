package stepwelltest

// This file has limits go over the bridge.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// Limits are the limits; see [world.LimitKeeper].
func (w *bridged) Limits() world.Limiter { return bridgedLimits{w, w.able.LimitKeeper.Limits()} }

type bridgedLimits struct {
	w     *bridged
	below world.Limiter
}

func (l bridgedLimits) ListLimits(ctx context.Context) ([]world.Limit, error) {
	return outside(ctx, l.w.b, l.below.ListLimits)
}

func (l bridgedLimits) SetLimit(ctx context.Context, name string, number *int) error {
	return nothing(change(ctx, l.w, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.below.SetLimit(ctx, name, number) }))
}

func (l bridgedLimits) ListLimitKeys(ctx context.Context, limit, behind string, most int) ([]world.LimitKey, error) {
	return outside(ctx, l.w.b, func(ctx context.Context) ([]world.LimitKey, error) {
		return l.below.ListLimitKeys(ctx, limit, behind, most)
	})
}

func (l bridgedLimits) ListHolders(ctx context.Context, limit, key string, most int) ([]world.LimitHolder, error) {
	return outside(ctx, l.w.b, func(ctx context.Context) ([]world.LimitHolder, error) {
		return l.below.ListHolders(ctx, limit, key, most)
	})
}

func (l bridgedLimits) InLine(ctx context.Context, run, step string) (*world.InLine, error) {
	return outside(ctx, l.w.b, func(ctx context.Context) (*world.InLine, error) { return l.below.InLine(ctx, run, step) })
}
