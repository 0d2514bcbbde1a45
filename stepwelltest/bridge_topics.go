package stepwelltest

// This file has topics go over the bridge.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// bridgedTopics are the topics of the world below.
type bridgedTopics struct {
	w *bridged
	k world.Publisher
}

// Topics are the topics; see [world.TopicKeeper]. They are the same ones each time, to who compares.
func (w *bridged) Topics() world.Publisher { return bridgedTopics{w, w.able.TopicKeeper.Topics()} }

func (t bridgedTopics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	return change(ctx, t.w, func(ctx context.Context) ([]world.Sent, error) { return t.k.Publish(ctx, all) })
}

func (t bridgedTopics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	return outside(ctx, t.w.b, func(ctx context.Context) ([]world.Subscription, error) { return t.k.Subscriptions(ctx, names...) })
}

func (t bridgedTopics) Due(ctx context.Context, q world.DueQuery) (world.Due, error) {
	return outside(ctx, t.w.b, func(ctx context.Context) (world.Due, error) { return t.k.Due(ctx, q) })
}

func (t bridgedTopics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	return change(ctx, t.w, func(ctx context.Context) (bool, error) { return t.k.Spread(ctx, s) })
}

func (t bridgedTopics) Shapes(ctx context.Context) ([]world.Shape, error) {
	return outside(ctx, t.w.b, func(ctx context.Context) ([]world.Shape, error) { return t.k.Shapes(ctx) })
}

func (t bridgedTopics) Listeners(ctx context.Context, q world.ListenerQuery) ([]world.Listener, error) {
	return outside(ctx, t.w.b, func(ctx context.Context) ([]world.Listener, error) { return t.k.Listeners(ctx, q) })
}

func (t bridgedTopics) Publications(ctx context.Context, q world.PublicationQuery) (world.PublicationPage, error) {
	return outside(ctx, t.w.b, func(ctx context.Context) (world.PublicationPage, error) { return t.k.Publications(ctx, q) })
}
