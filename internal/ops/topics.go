package ops

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// SubscriptionOf returns a subscription as the API shows it, without the secrets of its endpoint. q
// is nil if its queue is gone.
func SubscriptionOf(s *world.Subscription, q *world.QueueStats) api.Subscription {
	out := api.Subscription{
		Name: s.Name, Pattern: s.Pattern, Match: s.Match, Ordered: s.Ordered, Revision: s.Revision, Queue: s.Queue, Workflow: s.Workflow,
		By: s.Made.By, At: s.Made.At, Messages: s.OwnQueue(),
	}
	if e := s.Endpoint; e != nil {
		out.Endpoint = &api.Endpoint{URL: ShownEndpoint(e.URL), Private: e.Private}
		if e.GiveUp > 0 {
			out.Endpoint.GiveUp = human.SpanText(e.GiveUp)
		}
	}
	if q != nil {
		of := QueueOf(q)
		out.Paused, out.Counts, out.Oldest = of.Paused, of.Counts, of.Oldest
	}
	return out
}

// mostWord is the length from which a part of a path with digits may be a secret.
const mostWord = 19

// ShownEndpoint returns the URL of an endpoint without what may be a secret: the values of its
// query, and long parts of its path that have digits.
func ShownEndpoint(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return world.ShownURL(text)
	}
	shown := u.Scheme + "://" + u.Host
	for i, part := range strings.Split(u.EscapedPath(), "/") {
		if i > 0 {
			shown += "/"
		}
		if len(part) > mostWord && strings.ContainsAny(part, "0123456789") {
			part = part[:3] + "…"
		}
		shown += part
	}
	for i, pair := range strings.Split(u.RawQuery, "&") {
		name, _, found := strings.Cut(pair, "=")
		switch {
		case u.RawQuery == "":
			continue
		case !found: // it may be the secret itself
			name = ""
		}
		shown += []string{"?", "&"}[min(i, 1)] + name + "=…"
	}
	return shown
}

// PublicationOf returns a publication as the API shows it.
func PublicationOf(p *world.Publication) api.Publication {
	out := api.Publication{
		ID: p.ID, Topic: p.Topic, Source: p.Source, Payload: p.Payload, Sealed: p.Encrypted, Damage: p.Damage, Headers: p.Headers,
		At: p.At, Due: p.Due, Spread: p.Spread, Error: p.Error,
	}
	if cmp.Or(p.Encrypted, p.Damage) != "" {
		out.Payload = nil
	}
	return out
}

// Publish publishes under a topic.
func (o *Ops) Publish(ctx context.Context, in api.Publish) (out api.SentMessage, err error) {
	id, err := twoKeys(in.Key, in.DeliveryID)
	switch {
	case in.Payload == nil:
		return out, invalid("body: there is no payload")
	case err != nil:
		return out, err
	case in.Delay != 0 && !in.At.IsZero():
		return out, invalid("body: give delay or at, not both")
	}
	p := world.Publication{
		Topic: in.Topic, Source: in.Source, Payload: in.Payload, Headers: in.Headers, Delay: time.Duration(in.Delay), Dedupe: id,
	}
	if !in.At.IsZero() {
		p.Delay = max(in.At.Sub(o.opt.Now()), 0)
	}
	sent, err := o.topics.Topics.Publish(ctx, []world.Publication{p})
	if err != nil {
		return out, err
	}
	return api.SentMessage(sent[0]), nil
}

// ListPublications returns a page of publications, newest first.
func (o *Ops) ListPublications(ctx context.Context, in api.ListPublications) (out api.PublicationPage, err error) {
	limit, err := size(api.ListPublicationsOp.Row, in.Limit)
	if err != nil {
		return out, err
	}
	page, err := o.topics.Topics.Publications(ctx, world.PublicationQuery{Topic: in.Topic, Cursor: in.Cursor, Limit: limit})
	out = api.PublicationPage{Publications: make([]api.Publication, len(page.Publications)), Cursor: page.Cursor}
	for i := range page.Publications {
		out.Publications[i] = PublicationOf(&page.Publications[i])
	}
	return out, err
}

// ListSubscriptions lists all subscriptions, by name.
func (o *Ops) ListSubscriptions(ctx context.Context, _ api.ListSubscriptions) (out api.Subscriptions, err error) {
	all, err := courier.Standings(ctx, o.topics)
	out.Subscriptions = make([]api.Subscription, len(all))
	for i := range all {
		out.Subscriptions[i] = SubscriptionOf(&all[i].Subscription, all[i].Stats)
	}
	return out, err
}

// checkSubscription refuses what cannot be the name of a subscription.
func checkSubscription(name string) error {
	if world.CheckWorkflowName(name) != nil {
		return invalid("subscription name %.140q: want A-Z a-z 0-9 _ . -", name)
	}
	return nil
}

// GetSubscription returns one subscription.
func (o *Ops) GetSubscription(ctx context.Context, in api.GetSubscription) (out api.Subscription, err error) {
	if err := checkSubscription(in.Subscription); err != nil {
		return out, err
	}
	all, err := courier.Standings(ctx, o.topics, in.Subscription)
	if err == nil && len(all) == 0 {
		err = o.create(fmt.Errorf("subscription %q: %w", in.Subscription, world.ErrNotFound), api.SubscribeOp.Row, in.Subscription)
	}
	if err != nil {
		return out, err
	}
	return SubscriptionOf(&all[0].Subscription, all[0].Stats), nil
}

// Subscribe creates a subscription, or changes its settings.
func (o *Ops) Subscribe(ctx context.Context, in api.Subscribe) (out api.Subscribed, err error) {
	sub := world.Subscription{
		Name: in.Subscription, Pattern: in.Pattern, Match: in.Match, Ordered: in.Ordered, Revision: in.Revision, Queue: in.Queue,
		Made: world.Provenance{By: acting.Who(ctx), At: o.opt.Now()},
	}
	if bytes.Equal(sub.Match, []byte("null")) {
		sub.Match = nil
	}
	if t := in.Workflow; t != nil {
		sub.Workflow = &world.StartTarget{Name: t.Name, Version: t.Version, Key: t.Key, Attributes: t.Attributes}
	}
	if e := in.Endpoint; e != nil {
		sub.Endpoint = &world.PostTarget{URL: e.URL, Private: e.Private, GiveUp: time.Duration(e.GiveUp)}
		if e.Secret != "" {
			sub.Endpoint.Secrets = []world.Secret{world.Secret(e.Secret)}
		}
		if o.opt.Endpoint != nil {
			if err := o.opt.Endpoint(sub.Endpoint); err != nil {
				return out, err
			}
		}
	}
	secret, err := courier.Subscribe(ctx, o.topics, sub)
	if err != nil {
		if sub.Queue != "" {
			err = o.create(err, api.DeclareQueueOp.Row, sub.Queue)
		}
		return out, err
	}
	out.Secret = string(secret)
	out.Subscription, err = o.GetSubscription(ctx, api.GetSubscription{Subscription: in.Subscription})
	return out, err
}

// Unsubscribe ends a subscription.
func (o *Ops) Unsubscribe(ctx context.Context, in api.Unsubscribe) (out api.None, err error) {
	if err := checkSubscription(in.Subscription); err != nil {
		return out, err
	}
	return out, o.topics.Unsubscribe(ctx, in.Subscription)
}

// PauseSubscription stops the deliveries of a subscription.
func (o *Ops) PauseSubscription(ctx context.Context, in api.PauseSubscription) (api.Subscription, error) {
	return o.pauseSubscription(ctx, in.Subscription, o.pause(ctx, in.Reason))
}

// ResumeSubscription resumes the deliveries of a subscription.
func (o *Ops) ResumeSubscription(ctx context.Context, in api.ResumeSubscription) (api.Subscription, error) {
	return o.pauseSubscription(ctx, in.Subscription, nil)
}

func (o *Ops) pauseSubscription(ctx context.Context, name string, pause *world.QueuePause) (out api.Subscription, err error) {
	own, err := o.ownQueue(ctx, name)
	if err == nil {
		err = o.topics.Queues.PauseQueue(ctx, own, pause)
	}
	if err != nil {
		return out, err
	}
	return o.GetSubscription(ctx, api.GetSubscription{Subscription: name})
}

// ownQueue returns the queue of a subscription.
func (o *Ops) ownQueue(ctx context.Context, name string) (string, error) {
	if err := checkSubscription(name); err != nil {
		return "", err
	}
	return courier.Own(ctx, o.topics, name)
}

// Redeliver delivers dead letters of a subscription again.
func (o *Ops) Redeliver(ctx context.Context, in api.Redeliver) (out api.QueueChanged, err error) {
	own, err := o.ownQueue(ctx, in.Subscription)
	if err != nil {
		return out, err
	}
	return o.RedriveQueue(ctx, api.RedriveQueue{Queue: own, IDs: in.IDs})
}

// RotateSecret creates a new secret for the endpoint of a subscription.
func (o *Ops) RotateSecret(ctx context.Context, in api.RotateSecret) (out api.NewSecret, err error) {
	if err := checkSubscription(in.Subscription); err != nil {
		return out, err
	}
	secret, err := courier.Rotate(ctx, o.topics, in.Subscription)
	return api.NewSecret{Secret: string(secret)}, err
}
