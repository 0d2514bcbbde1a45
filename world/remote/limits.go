package remote

// This file has limits.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Limits returns the limits of the server's database; see [world.World]. If the database
// keeps none, starts of runs with limits are refused.
func (w *World) Limits() world.Limiter { return limits{w} }

// limits are the limits of a server's database.
type limits struct{ w *World }

func (k limits) read(ctx context.Context, q *wire.LimitsQuery) (out wire.Limits, err error) {
	err = k.w.ask(ctx, manner{twice: true}, "limits", q, &out)
	return out, err
}

// ListLimits tells of all limits; see [world.Limiter].
func (k limits) ListLimits(ctx context.Context) (all []world.Limit, err error) {
	out, err := k.read(ctx, &wire.LimitsQuery{})
	for _, l := range out.Limits {
		all = append(all, world.Limit(l))
	}
	return all, err
}

// SetLimit changes a number; see [world.Limiter].
func (k limits) SetLimit(ctx context.Context, name string, number *int) error {
	if number != nil {
		if err := world.CheckLimit(name, *number); err != nil {
			return err
		}
	}
	return k.w.ask(ctx, manner{twice: true}, "set-limit", &wire.LimitAct{Limit: name, Number: number}, &wire.Accepted{})
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (k limits) ListLimitKeys(ctx context.Context, limit, behind string, most int) (all []world.LimitKey, err error) {
	out, err := k.read(ctx, &wire.LimitsQuery{Limit: limit, Behind: behind, Most: most})
	for _, key := range out.Keys {
		all = append(all, world.LimitKey(key))
	}
	return all, err
}

// ListHolders tells what holds places of a key; see [world.Limiter].
func (k limits) ListHolders(ctx context.Context, limit, key string, most int) ([]world.LimitHolder, error) {
	out, err := k.read(ctx, &wire.LimitsQuery{Limit: limit, HoldersOf: &key, Most: most})
	return out.Holders, err
}

// InLine tells where a run stands; see [world.Limiter].
func (k limits) InLine(ctx context.Context, run, step string) (*world.InLine, error) {
	out, err := k.read(ctx, &wire.LimitsQuery{Run: run, Step: step})
	return out.InLine, err
}
