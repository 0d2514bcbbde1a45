package server

// This file has the doors to topics for remote workers and clients: payloads go as they lie there, and secrets of
// endpoints go nowhere.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireTopicRoutes() []route {
	return []route{
		actRoute("topics", Operator, "Publish, or write what was decided of what is due, with a change of a subscription", "WireTopicAct", "WireTopicActed", wireTopic),
		wireRoute("subscriptions", Viewer, "Tell of subscriptions, of what was published, or of what is due", "WireTopicQuery", "WireTopics", wireTopics),
	}
}

// publisherBelow are the topics as they lie there.
func publisherBelow(d *doors, r *request) (world.Publisher, error) {
	if r.limited() != nil {
		return nil, errLimitedQueues
	}
	return d.below.Topics(), nil
}

func wireTopic(d *doors, r *request, in *wire.TopicAct) (wire.TopicActed, error) {
	k, err := publisherBelow(d, r)
	if err != nil {
		return wire.TopicActed{}, err
	}
	act, name := "", ""
	if s := in.Spread; s != nil {
		if err := maySpread(r, s); err != nil {
			return wire.TopicActed{}, err
		}
		switch act = "spread"; {
		case s.Subscribe != nil:
			act, name = "subscribe", s.Subscribe.Name
			if err := checkEndpoint(s.Subscribe.Endpoint, d.opts.PrivateEndpoints); err != nil {
				return wire.TopicActed{}, fmt.Errorf("subscription %.140s: %w", name, err)
			}
			if err := keepSecrets(r.Context(), k, s.Subscribe); err != nil {
				return wire.TopicActed{}, err
			}
			s.Subscribe.Made.By = r.maker(s.Subscribe.Made.By)
		case s.Unsubscribe != "":
			act, name = "unsubscribe", s.Unsubscribe
		}
		if err := d.mayMail(r, s.Mail); err != nil {
			return wire.TopicActed{}, err
		}
	}
	out, err := lasting(r.Context(), func(ctx context.Context) (wire.TopicActed, error) {
		if in.Spread != nil && !r.sees(Worker) {
			return wire.TopicActed{Spread: true}, d.changeSubscription(ctx, in.Spread)
		}
		return actOnTopics(ctx, k, in)
	})
	if act != "" && (out.Spread || err != nil) && r.people() {
		r.SetPathValue("subscription", name)
		d.audit.note(r.Request, r.name(), r.route.op.id, "", act, err)
	}
	return out, err
}

// maySpread refuses who is no worker whatever is more than a change of a subscription: what is spread goes to any queue
// and to any run.
func maySpread(r *request, s *wire.Spread) error {
	switch {
	case s.Subscribe != nil && s.Unsubscribe != "":
		return invalid("body: spread: subscribe or unsubscribe, not both")
	case s.Subscribe == nil && s.Unsubscribe == "", s.Cut != nil, len(s.Done)+len(s.Aside)+len(s.Messages)+len(s.Mail)+len(s.Looked) > 0:
		return needs(r, Worker, "to spread what is due")
	}
	return nil
}

// mayMail holds the mail of a spread to what is held of each delivery.
func (d *doors) mayMail(r *request, mail []*wire.Delivery) error {
	for _, m := range mail {
		if m == nil {
			return invalid("body: spread: a mail is null")
		}
		if err := d.guard.mayDeliver(r, m); err != nil {
			return err
		}
		if err := d.app.AdmitDelivery(m.World()); err != nil {
			return err
		}
	}
	return nil
}

// changeSubscription does what an operator asks for. This server spreads what was published before, not the client.
func (d *doors) changeSubscription(ctx context.Context, s *wire.Spread) error {
	of := spread.Of(d.below)
	switch {
	case of == nil:
		return fmt.Errorf("topics of the server's database: %w", world.ErrNotFound)
	case s.Subscribe != nil:
		return of.Subscribe(ctx, *s.Subscribe)
	}
	return of.Unsubscribe(ctx, s.Unsubscribe)
}

// keepSecrets gives a subscription the secrets of the one that stands, which nobody elsewhere knows.
func keepSecrets(ctx context.Context, k world.Publisher, s *world.Subscription) error {
	if world.CheckSubscription(s) != nil {
		return nil // it is refused for that
	}
	before, err := k.Subscriptions(ctx, s.Name)
	if err == nil && len(before) > 0 {
		s.Follow(&before[0])
	}
	return err
}

func actOnTopics(ctx context.Context, k world.Publisher, in *wire.TopicAct) (out wire.TopicActed, err error) {
	switch {
	case in.Publish != nil:
		var sent []world.Sent
		sent, err = k.Publish(ctx, wire.WorldPublications(in.Publish))
		for _, p := range sent {
			out.Sent = append(out.Sent, wire.Sent(p))
		}
	case in.Spread != nil:
		out.Spread, err = k.Spread(ctx, in.Spread.World())
	default:
		err = invalid("body: nothing is asked for")
	}
	return out, err
}

func wireTopics(d *doors, r *request, in *wire.TopicQuery) (out wire.Topics, err error) {
	k, err := publisherBelow(d, r)
	if err != nil {
		return out, err
	}
	switch {
	case in.Due != 0:
		var due world.Due
		due, err = k.Due(r.Context(), world.DueQuery{After: in.DueAfter, Limit: in.Due})
		if !r.sees(Worker) { // who may not spread has nothing to spread
			due = world.Due{Subscriptions: due.Subscriptions, Revision: due.Revision, Now: due.Now}
		}
		out = wire.OfDue(&due)
	case in.Publications != nil:
		var page world.PublicationPage
		page, err = k.Publications(r.Context(), world.PublicationQuery(*in.Publications))
		return wire.Topics{Publications: wire.OfPublications(page.Publications), Cursor: page.Cursor}, err
	case in.Shapes:
		var all []world.Shape
		all, err = k.Shapes(r.Context())
		for i := range all {
			out.Shapes = append(out.Shapes, all[i].String())
		}
		return out, err
	case in.Listeners != nil:
		q := in.Listeners.World()
		if _, _, err := q.Check(); err != nil {
			return out, err
		}
		all, err := k.Listeners(r.Context(), q)
		return wire.Topics{Listeners: wire.OfListeners(all)}, err
	default:
		for _, name := range in.Names {
			if err := world.CheckWorkflowName(name); err != nil {
				return out, err
			}
		}
		out.Subscriptions, err = k.Subscriptions(r.Context(), in.Names...)
	}
	shown := make([]world.Subscription, len(out.Subscriptions))
	for i, s := range out.Subscriptions {
		if shown[i] = courier.Hide(s); s.Endpoint != nil && !r.sees(Operator) {
			e := *shown[i].Endpoint
			e.URL = ops.ShownEndpoint(e.URL)
			shown[i].Endpoint = &e
		}
	}
	out.Subscriptions = shown
	return out, err
}
