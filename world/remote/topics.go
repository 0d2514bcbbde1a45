package remote

// This file has topics.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Topics returns the topics of the server's database; see [world.World]. With an older server
// its methods return [world.ErrInvalid]. The server never returns secrets of endpoints; a
// subscription without a secret keeps its own.
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
	var out wire.TopicActed
	if err := k.w.ask(ctx, manner{twice: twice, once: !twice}, "topics", &wire.TopicAct{Publish: wire.OfPublications(all)}, &out); err != nil {
		return nil, err
	}
	if len(out.Sent) != len(all) {
		return nil, errOther
	}
	sent := make([]world.Sent, len(out.Sent))
	for i, s := range out.Sent {
		sent[i] = world.Sent(s)
	}
	return sent, nil
}

// Spread writes what was decided of what is due; see [world.Publisher]. Where the answer was lost it is sent
// again: what was written then is due no more, so that a second one changes nothing, and says so.
func (k topics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	var out wire.TopicActed
	err := k.w.ask(ctx, manner{twice: true}, "topics", &wire.TopicAct{Spread: wire.OfSpread(&s)}, &out)
	return out.Spread, err
}

func (k topics) read(ctx context.Context, q *wire.TopicQuery) (out wire.Topics, err error) {
	err = k.w.ask(ctx, manner{twice: true, long: true}, "subscriptions", q, &out)
	return out, err
}

// Subscriptions tells of subscriptions; see [world.Publisher].
func (k topics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	out, err := k.read(ctx, &wire.TopicQuery{Names: names})
	return out.Subscriptions, err
}

// Due tells what is to be spread; see [world.Publisher].
func (k topics) Due(ctx context.Context, q world.DueQuery) (world.Due, error) {
	if _, _, err := q.Check(); err != nil {
		return world.Due{}, err
	}
	out, err := k.read(ctx, &wire.TopicQuery{Due: q.Limit, DueAfter: q.After})
	return out.Due(), err
}

// Publications are pages of what was published; see [world.Publisher].
func (k topics) Publications(ctx context.Context, q world.PublicationQuery) (world.PublicationPage, error) {
	if _, err := q.Check(); err != nil {
		return world.PublicationPage{}, err
	}
	in := wire.PublicationQuery(q)
	out, err := k.read(ctx, &wire.TopicQuery{Publications: &in})
	return world.PublicationPage{Publications: wire.WorldPublications(out.Publications), Cursor: out.Cursor}, err
}

// Shapes are those of all waits that listen; see [world.Publisher].
func (k topics) Shapes(ctx context.Context) ([]world.Shape, error) {
	out, err := k.read(ctx, &wire.TopicQuery{Shapes: true})
	if err != nil {
		return nil, err
	}
	all := make([]world.Shape, len(out.Shapes))
	for i, text := range out.Shapes {
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
	out, err := k.read(ctx, &wire.TopicQuery{Listeners: wire.OfListenerQuery(&q)})
	return wire.WorldListeners(out.Listeners), err
}
