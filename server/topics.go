package server

// This file has the doors of topics: what is published, and the subscriptions to it.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

const subscriptionPath = "/v1/subscriptions/{subscription}"

func topicRoutes() []route {
	one := []response{{200, "Subscription", "", "The subscription as it is now."}}
	act := func(name, id, summary, body, schema, about string, handle func(*Server, http.ResponseWriter, *request) error) route {
		return route{method: "POST", path: subscriptionPath + "/" + name, scope: Operator, audit: true, handle: handle, op: operation{
			id: id, summary: summary, body: body, optional: true, responses: []response{{200, schema, "", about}},
		}}
	}
	return []route{
		{method: "POST", path: "/v1/topics/{topic}", scope: Operator, handle: publish, op: operation{
			id: "publish", summary: "Publish under a topic, to all of its current subscriptions", key: "The delivery ID, as deliveryId.", body: "Publish",
			responses: []response{{201, "Published", "", "It is durable."}},
		}},
		{method: "GET", path: "/v1/publications", scope: Viewer, wide: true, handle: listPublications, op: operation{
			id: "listPublications", summary: "List publications, newest first; each is kept for at least a day",
			query:     []param{{name: "topic", schema: "Text", about: "Only under topics that match this pattern."}, paramCursor, limit("Limit1000")},
			responses: []response{{200, "PublicationPage", "", "A page. It may be short, even empty, and have a cursor."}},
		}},
		{method: "GET", path: "/v1/subscriptions", scope: Viewer, handle: listSubscriptions, op: operation{
			id: "listSubscriptions", summary: "List the subscriptions, and the state of their queues", responses: []response{{200, "Subscriptions", "", "The subscriptions, by name."}},
		}},
		{method: "GET", path: subscriptionPath, scope: Viewer, handle: getSubscription, op: operation{id: "getSubscription", summary: "Show a subscription and the state of its queue", responses: one}},
		{method: "PUT", path: subscriptionPath, scope: Operator, audit: true, handle: subscribe, op: operation{
			id: "subscribe", summary: "Create a subscription, or change its settings", body: "Subscribe",
			responses: []response{{200, "Subscribed", "", "The current state of the subscription, and the new secret of its endpoint, which is shown only once."}},
		}},
		{method: "DELETE", path: subscriptionPath, scope: Operator, audit: true, handle: unsubscribe, op: operation{
			id: "unsubscribe", summary: "End a subscription, and delete the unprocessed messages in its own queue", responses: []response{{204, "", "", "It is deleted; what was published earlier was delivered."}},
		}},
		act("pause", "pauseSubscription", "Stop the deliveries of a subscription until you resume it", "Reason", "Subscription", one[0].about, pauseSubscription),
		act("resume", "resumeSubscription", "Resume the deliveries of a subscription", "Empty", "Subscription", one[0].about, resumeSubscription),
		act("redeliver", "redeliver", "Deliver dead letters of a subscription again, all or some", "Redrive", "QueueChanged", "How many there were.", redeliver),
		act("rotate-secret", "rotateSecret", "Create a new secret for a subscription's endpoint; the previous one is valid until the next rotation", "Empty", "NewSecret",
			"The secret, which is shown only once.", rotateSecret),
	}
}

// subscriptionOf is the subscription that a path names, and where it is kept.
func subscriptionOf(s *Server, r *request) (t *spread.Spreader, name string, err error) {
	t, name = s.topics.Spread, r.PathValue("subscription")
	if world.CheckWorkflowName(name) != nil {
		err = invalid("subscription name %.140q: want A-Z a-z 0-9 _ . -", name)
	}
	return t, name, err
}

// publishing is the body of what is published.
type publishing struct {
	Payload    json.RawMessage   `json:"payload"`
	Headers    map[string]string `json:"headers"`
	Source     string            `json:"source"`
	Delay      duration          `json:"delay"`
	At         time.Time         `json:"at"`
	DeliveryID string            `json:"deliveryId"`
}

func publish(s *Server, w http.ResponseWriter, r *request) error {
	var b publishing
	if err := r.decode(&b); err != nil {
		return err
	}
	key, err := r.idempotencyKey()
	switch {
	case err != nil:
		return err
	case b.Payload == nil:
		return invalid("body: there is no payload")
	case key != "" && b.DeliveryID != "" && key != b.DeliveryID:
		return errConditional
	case b.Delay != 0 && !b.At.IsZero():
		return invalid("body: give delay or at, not both")
	}
	t := s.topics.Spread
	p := world.Publication{
		Topic: r.PathValue("topic"), Source: b.Source, Payload: b.Payload, Headers: b.Headers, Delay: time.Duration(b.Delay), Dedupe: cmp.Or(b.DeliveryID, key),
	}
	if !b.At.IsZero() {
		p.Delay = max(time.Until(b.At), 0)
	}
	sent, err := t.Topics.Publish(r.Context(), []world.Publication{p})
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, sentMessage(sent[0]))
}

// publicationPage is a page of what was published.
type publicationPage struct {
	Publications []operate.Publication `json:"publications"`
	Cursor       string                `json:"cursor,omitempty"` // none: this is the end
}

func listPublications(s *Server, w http.ResponseWriter, r *request) error {
	limit, err := r.number("limit", someEvents, mostEvents)
	if err != nil {
		return err
	}
	t := s.topics.Spread
	page, err := t.Topics.Publications(r.Context(), world.PublicationQuery{Topic: r.query.Get("topic"), Cursor: r.query.Get("cursor"), Limit: limit})
	if err != nil {
		return err
	}
	out := publicationPage{make([]operate.Publication, len(page.Publications)), page.Cursor}
	for i := range page.Publications {
		out.Publications[i] = operate.PublicationOf(&page.Publications[i])
	}
	return answer(w, http.StatusOK, out)
}

// subscriptionList is all subscriptions.
type subscriptionList struct {
	Subscriptions []operate.Subscription `json:"subscriptions"`
}

func listSubscriptions(s *Server, w http.ResponseWriter, r *request) error {
	t := s.topics.Spread
	all, err := courier.Standings(r.Context(), t)
	if err != nil {
		return err
	}
	list := subscriptionList{make([]operate.Subscription, len(all))}
	for i := range all {
		list.Subscriptions[i] = operate.SubscriptionOf(&all[i].Subscription, all[i].Stats)
	}
	return answer(w, http.StatusOK, list)
}

// standing is a subscription as it is shown.
func standing(ctx context.Context, t *spread.Spreader, name string) (operate.Subscription, error) {
	all, err := courier.Standings(ctx, t, name)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("subscription %q: %w: PUT /v1/subscriptions/%s", name, world.ErrNotFound, url.PathEscape(name))
	}
	if err != nil {
		return operate.Subscription{}, err
	}
	return operate.SubscriptionOf(&all[0].Subscription, all[0].Stats), nil
}

func getSubscription(s *Server, w http.ResponseWriter, r *request) error {
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	is, err := standing(r.Context(), t, name)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, is)
}

// subscribing is the body of a subscription.
type subscribing struct {
	Pattern  string            `json:"pattern"`
	Match    json.RawMessage   `json:"match"`
	Ordered  bool              `json:"ordered"`
	Revision int               `json:"revision"`
	Queue    string            `json:"queue"`
	Workflow *subscribingStart `json:"workflow"`
	Endpoint *subscribingPost  `json:"endpoint"`
}

type subscribingStart struct {
	Name       string            `json:"name"`
	Version    int               `json:"version"`
	Key        string            `json:"key"`
	Attributes map[string]string `json:"attributes"`
}

type subscribingPost struct {
	URL     string   `json:"url"`
	Private bool     `json:"private"`
	GiveUp  duration `json:"giveUp"`
	Secret  string   `json:"secret"`
}

// world is the subscription that a body says.
func (b *subscribing) world(name string) world.Subscription {
	sub := world.Subscription{Name: name, Pattern: b.Pattern, Match: b.Match, Ordered: b.Ordered, Revision: b.Revision, Queue: b.Queue}
	if bytes.Equal(sub.Match, []byte("null")) {
		sub.Match = nil
	}
	if t := b.Workflow; t != nil {
		sub.Workflow = &world.StartTarget{Name: t.Name, Version: t.Version, Key: t.Key, Attributes: t.Attributes}
	}
	if e := b.Endpoint; e != nil {
		sub.Endpoint = &world.PostTarget{URL: e.URL, Private: e.Private, GiveUp: time.Duration(e.GiveUp)}
		if e.Secret != "" {
			sub.Endpoint.Secrets = []world.Secret{world.Secret(e.Secret)}
		}
	}
	return sub
}

// subscribed is a subscription as it is now.
type subscribed struct {
	Subscription operate.Subscription `json:"subscription"`
	Secret       string               `json:"secret,omitempty"` // of its endpoint, where it was made just now
}

func subscribe(s *Server, w http.ResponseWriter, r *request) error {
	var b subscribing
	if err := r.decode(&b); err != nil {
		return err
	}
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	sub := b.world(name)
	sub.Made = world.Provenance{By: acting.Who(r.Context()), At: world.Now()}
	secret, err := s.subscribe(r.Context(), t, sub)
	if err != nil {
		return err
	}
	is, err := standing(r.Context(), t, name)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, subscribed{is, string(secret)})
}

// subscribe makes a subscription whose endpoint this server would post to.
func (s *Server) subscribe(ctx context.Context, t *spread.Spreader, sub world.Subscription) (world.Secret, error) {
	if err := checkEndpoint(sub.Endpoint, s.opts.PrivateEndpoints); err != nil {
		return "", err
	}
	secret, err := courier.Subscribe(ctx, t, sub)
	if sub.Queue != "" && errors.Is(err, world.ErrNotFound) {
		err = undeclared(err, sub.Queue)
	}
	return secret, err
}

func unsubscribe(s *Server, w http.ResponseWriter, r *request) error {
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	if err := t.Unsubscribe(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func pauseSubscription(s *Server, w http.ResponseWriter, r *request) error {
	var b reason
	if err := r.decode(&b); err != nil {
		return err
	}
	r.because(b.Reason)
	return pauseOwn(s, w, r, &world.QueuePause{By: acting.Who(r.Context()), Reason: b.Reason, Since: world.Now()})
}

func resumeSubscription(s *Server, w http.ResponseWriter, r *request) error {
	if err := r.decode(&struct{}{}); err != nil {
		return err
	}
	return pauseOwn(s, w, r, nil)
}

func pauseOwn(s *Server, w http.ResponseWriter, r *request, pause *world.QueuePause) error {
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	own, err := courier.Own(r.Context(), t, name)
	if err != nil {
		return err
	}
	if err := t.Queues.PauseQueue(r.Context(), own, pause); err != nil {
		return err
	}
	is, err := standing(r.Context(), t, name)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, is)
}

func redeliver(s *Server, w http.ResponseWriter, r *request) error {
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	own, err := courier.Own(r.Context(), t, name)
	if err != nil {
		return err
	}
	r.SetPathValue("queue", own)
	return redriveQueue(s, w, r)
}

// newSecret is a secret that was made just now.
type newSecret struct {
	Secret string `json:"secret"`
}

func rotateSecret(s *Server, w http.ResponseWriter, r *request) error {
	if err := r.decode(&struct{}{}); err != nil {
		return err
	}
	t, name, err := subscriptionOf(s, r)
	if err != nil {
		return err
	}
	secret, err := courier.Rotate(r.Context(), t, name)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, newSecret{string(secret)})
}
