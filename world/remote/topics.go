package remote

// This file has topics.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Topics returns the topics of the server's database; see [world.TopicKeeper]. The server never
// returns secrets of endpoints; a subscription without a secret keeps its own.
func (w *World) Topics() world.Publisher { return topics{w} }

// topics are the topics of a server's database.
type topics struct{ w *World }

// Publish writes publications; see [world.Publisher]. Those that all have a delivery ID are sent again where the answer
// was lost.
func (k topics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	twice := !slices.ContainsFunc(all, func(p world.Publication) bool { return p.Dedupe == "" })
	sent, err := callAs(ctx, k.w, byID(twice), wire.Publish, wire.PublishIn{Publications: all})
	return asMany(len(all), sent, err)
}

// Spread writes what was decided of what is due; see [world.Publisher]. Where the answer was lost it is sent
// again: what was written then is due no more, so that a second one changes nothing, and says so.
func (k topics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	return call(ctx, k.w, wire.Spread, s)
}

// Subscriptions tells of subscriptions; see [world.Publisher].
func (k topics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	return call(ctx, k.w, wire.Subscriptions, wire.Names{Names: names})
}

// Due tells what is to be spread; see [world.Publisher].
func (k topics) Due(ctx context.Context, q world.DueQuery) (world.Due, error) {
	if _, _, err := q.Check(); err != nil {
		return world.Due{}, err
	}
	return call(ctx, k.w, wire.Due, q)
}

// Publications are pages of what was published; see [world.Publisher].
func (k topics) Publications(ctx context.Context, q world.PublicationQuery) (world.PublicationPage, error) {
	if _, err := q.Check(); err != nil {
		return world.PublicationPage{}, err
	}
	return call(ctx, k.w, wire.ListPublications, q)
}

// Shapes are those of all waits that listen; see [world.Publisher].
func (k topics) Shapes(ctx context.Context) ([]world.Shape, error) {
	texts, err := call(ctx, k.w, wire.Shapes, wire.Nothing{})
	if err != nil {
		return nil, err
	}
	all := make([]world.Shape, len(texts))
	for i, text := range texts {
		if all[i], err = world.ReadShape(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Listeners are pages of waits that listen; see [world.Publisher].
func (k topics) Listeners(ctx context.Context, q world.ListenerQuery) ([]world.Listener, error) {
	if _, _, err := q.Check(); err != nil {
		return nil, err
	}
	return call(ctx, k.w, wire.Listeners, q)
}
