package ops

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
)

// LimitOf returns a limit as the API shows it.
func LimitOf(l *world.Limit) api.Limit {
	return api.Limit{
		Name: l.Name, Number: l.Number(), Said: l.Said, Set: l.Set, UntilEnd: l.UntilEnd, Per: api.Span(l.Per), Burst: l.Burst, Refuse: l.Refuse,
		Weights: l.Weights, Runs: l.Runs, Steps: l.Steps, Messages: l.Messages,
	}
}

func (o *Ops) limits() world.Limiter { return o.world.Limits() }

// ListLimits lists all limits, by name.
func (o *Ops) ListLimits(ctx context.Context, _ api.ListLimits) (out api.Limits, err error) {
	all, err := o.limits().ListLimits(ctx)
	out.Limits = make([]api.Limit, len(all))
	for i := range all {
		out.Limits[i] = LimitOf(&all[i])
	}
	return out, err
}

// limit returns one limit.
func (o *Ops) limit(ctx context.Context, name string) (out api.Limit, err error) {
	all, err := o.ListLimits(ctx, api.ListLimits{})
	if err != nil {
		return out, err
	}
	i := slices.IndexFunc(all.Limits, func(l api.Limit) bool { return l.Name == name })
	if i < 0 {
		return out, world.NoLimit(name)
	}
	return all.Limits[i], nil
}

// GetLimit returns a limit and a page of its keys.
func (o *Ops) GetLimit(ctx context.Context, in api.GetLimit) (out api.LimitPage, err error) {
	most, err := size(api.GetLimitOp.Row, in.Most)
	if err != nil {
		return out, err
	}
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil {
		return out, invalid("cursor: it does not belong to this list")
	}
	if out.Limit, err = o.limit(ctx, in.Limit); err != nil {
		return out, err
	}
	keys, err := o.limits().ListLimitKeys(ctx, in.Limit, string(after), most)
	out.Keys = []api.LimitKey{}
	for _, k := range keys {
		out.Keys = append(out.Keys, api.LimitKey(k))
	}
	if len(keys) == most {
		out.Cursor = base64.RawURLEncoding.EncodeToString([]byte(cmp.Or(keys[most-1].Key, "\x00"))) // before all others
	}
	return out, err
}

// ListLimitHolders lists what holds the places of a key.
func (o *Ops) ListLimitHolders(ctx context.Context, in api.ListLimitHolders) (out api.LimitHolders, err error) {
	most, err := size(api.ListLimitHoldersOp.Row, in.Most)
	if err != nil {
		return out, err
	}
	held, err := o.limits().ListHolders(ctx, in.Limit, in.Key, most)
	out.Holders = append([]world.LimitHolder{}, held...)
	return out, err
}

// SetLimit changes the number of a limit.
func (o *Ops) SetLimit(ctx context.Context, in api.SetLimit) (out api.Limit, err error) {
	if err := o.limits().SetLimit(ctx, in.Limit, in.Number); err != nil {
		return out, err
	}
	return o.limit(ctx, in.Limit)
}
