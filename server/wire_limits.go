package server

// This file has the doors to limits for remote workers and clients.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireLimitRoutes() []route {
	set := actRoute("set-limit", Operator, "Change the number of a limit", "WireLimitAct", "WireAccepted", wireSetLimit)
	set.audit = true
	return []route{
		set,
		wireRoute("limits", Viewer, "Tell of limits, of the keys of one, what holds a key, or where a run stands in line", "WireLimitsQuery", "WireLimits", wireLimits),
	}
}

// limiterBelow are the limits of the server's database.
func limiterBelow(d *doors, r *request) (world.Limiter, error) {
	if r.limited() != nil {
		return nil, fmt.Errorf("%w: it is limited to some workflows and steps, and limits apply to all", errScope)
	}
	return d.below.Limits(), nil
}

func wireLimits(d *doors, r *request, in *wire.LimitsQuery) (out wire.Limits, err error) {
	k, err := limiterBelow(d, r)
	if err != nil {
		return out, err
	}
	switch {
	case in.Run != "":
		out.InLine, err = k.InLine(r.Context(), in.Run, in.Step)
	case in.Limit != "":
		if in.Most < 1 || in.Most > mostEvents {
			return out, invalid("body: most %d: want 1 to %d", in.Most, mostEvents)
		}
		if in.HoldersOf != nil {
			out.Holders, err = k.ListHolders(r.Context(), in.Limit, *in.HoldersOf, in.Most)
			return out, err
		}
		keys, err := k.ListLimitKeys(r.Context(), in.Limit, in.Behind, in.Most)
		for _, key := range keys {
			out.Keys = append(out.Keys, wire.LimitKey(key))
		}
		return out, err
	default:
		all, err := k.ListLimits(r.Context())
		for _, l := range all {
			out.Limits = append(out.Limits, wire.LimitRow(l))
		}
		return out, err
	}
	return out, err
}

func wireSetLimit(d *doors, r *request, in *wire.LimitAct) (wire.Accepted, error) {
	k, err := limiterBelow(d, r)
	if err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, k.SetLimit(ctx, in.Limit, in.Number)
	})
}
