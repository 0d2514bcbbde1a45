package server

// This file has topics for remote workers and clients. Secrets of endpoints go nowhere.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func (d *doors) spread(r *request, s *world.Spread) (written bool, err error) {
	k, err := publisherOf(d)
	if err == nil {
		err = maySpread(r, s)
	}
	if err != nil {
		return false, err
	}
	act, name := "spread", ""
	switch {
	case s.Subscribe != nil:
		act, name = "subscribe", s.Subscribe.Name
		if err := checkEndpoint(s.Subscribe.Endpoint, d.opts.PrivateEndpoints); err != nil {
			return false, fmt.Errorf("subscription %.140s: %w", name, err)
		}
		if err := keepSecrets(r.Context(), k, s.Subscribe); err != nil {
			return false, err
		}
		s.Subscribe.Made.By = r.maker(s.Subscribe.Made.By)
	case s.Unsubscribe != "":
		act, name = "unsubscribe", s.Unsubscribe
	}
	if err := d.mayMail(r, s.Mail); err != nil {
		return false, err
	}
	written, err = lasting(r.Context(), func(ctx context.Context) (bool, error) {
		if !r.sees(Worker) {
			return true, d.changeSubscription(ctx, s)
		}
		return k.Spread(ctx, *s)
	})
	if (written || err != nil) && r.people() {
		d.note(r, "subscription", name, act, "", err)
	}
	return written, err
}

// maySpread refuses who is no worker whatever is more than a change of a subscription: what is spread goes to any queue
// and to any run.
func maySpread(r *request, s *world.Spread) error {
	switch {
	case s.Subscribe != nil && s.Unsubscribe != "":
		return invalid("body: spread: subscribe or unsubscribe, not both")
	case s.Subscribe == nil && s.Unsubscribe == "", s.Cut != nil, len(s.Done)+len(s.Aside)+len(s.Messages)+len(s.Mail)+len(s.Looked) > 0:
		return needs(r, Worker, "to spread what is due")
	}
	return nil
}

// mayMail holds the mail of a spread to what is held of each delivery.
func (d *doors) mayMail(r *request, mail []world.Delivery) error {
	for i := range mail {
		if len(mail[i].Events) == 0 {
			return invalid("body: mail %d has no event", i)
		}
		if err := d.guard.mayDeliver(r, &mail[i]); err != nil {
			return err
		}
		if err := d.app.AdmitDelivery(&mail[i]); err != nil {
			return err
		}
	}
	return nil
}

// changeSubscription does what an operator asks for. This server spreads what was published before, not the client.
func (d *doors) changeSubscription(ctx context.Context, s *world.Spread) error {
	of := spread.Of(d.below)
	if s.Subscribe != nil {
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

func (d *doors) subscriptions(r *request, in *wire.Names) ([]world.Subscription, error) {
	k, err := publisherOf(d)
	if err != nil {
		return nil, err
	}
	for _, name := range in.Names {
		if err := world.CheckWorkflowName(name); err != nil {
			return nil, err
		}
	}
	all, err := k.Subscriptions(r.Context(), in.Names...)
	return shownSubscriptions(r, all), err
}

// due has nothing to spread for who may not.
func (d *doors) due(r *request, in *world.DueQuery) (due world.Due, err error) {
	k, err := publisherOf(d)
	if err != nil {
		return due, err
	}
	due, err = k.Due(r.Context(), *in)
	if !r.sees(Worker) {
		due = world.Due{Subscriptions: due.Subscriptions, Revision: due.Revision, Now: due.Now}
	}
	due.Subscriptions = shownSubscriptions(r, due.Subscriptions)
	return due, err
}

// shownSubscriptions are subscriptions without secrets and, for viewers, without all of their URLs.
func shownSubscriptions(r *request, all []world.Subscription) []world.Subscription {
	shown := make([]world.Subscription, len(all))
	for i, s := range all {
		if shown[i] = courier.Hide(s); s.Endpoint != nil && !r.sees(Operator) {
			e := *shown[i].Endpoint
			e.URL = ops.ShownEndpoint(e.URL)
			shown[i].Endpoint = &e
		}
	}
	return shown
}

func wireShapes(k world.Publisher, ctx context.Context, _ wire.Nothing) (texts []string, err error) {
	all, err := k.Shapes(ctx)
	for i := range all {
		texts = append(texts, all[i].String())
	}
	return texts, err
}

func wireListeners(k world.Publisher, ctx context.Context, in world.ListenerQuery) ([]world.Listener, error) {
	if _, _, err := in.Check(); err != nil {
		return nil, err
	}
	return k.Listeners(ctx, in)
}
