package operate

// Subscriptions and publications as the API and the command line show them.

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Subscription is a subscription, and how many messages its queue has.
type Subscription struct {
	Name     string             `json:"name"`
	Pattern  string             `json:"pattern"`
	Match    json.RawMessage    `json:"match,omitempty"`
	Ordered  bool               `json:"ordered,omitempty"`
	Revision int                `json:"revision,omitempty"`
	Queue    string             `json:"queue,omitempty"`
	Workflow *world.StartTarget `json:"workflow,omitempty"`
	Endpoint *Endpoint          `json:"endpoint,omitempty"`
	By       string             `json:"by,omitempty"` // who made it
	At       time.Time          `json:"at,omitzero"`

	Messages string        `json:"messages"` // the queue that has its messages
	Paused   *QueuePause   `json:"paused,omitempty"`
	Counts   MessageCounts `json:"counts"`
	Oldest   time.Time     `json:"oldest,omitzero"`
}

// Endpoint is where a subscription posts. What may be a secret in the URL is not shown.
type Endpoint struct {
	URL     string `json:"url"`
	Private bool   `json:"private,omitempty"`
	GiveUp  string `json:"giveUp,omitempty"` // as durations are written
}

// SubscriptionOf is a subscription as it is shown: without the secrets of its endpoint. q is nil where its queue is
// gone.
func SubscriptionOf(s *world.Subscription, q *world.QueueStats) Subscription {
	out := Subscription{
		Name: s.Name, Pattern: s.Pattern, Match: s.Match, Ordered: s.Ordered, Revision: s.Revision, Queue: s.Queue, Workflow: s.Workflow,
		By: s.Made.By, At: s.Made.At, Messages: s.OwnQueue(),
	}
	if e := s.Endpoint; e != nil {
		out.Endpoint = &Endpoint{URL: ShownEndpoint(e.URL), Private: e.Private}
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

// mostWord is how long a part of a path with digits may be that is taken for no secret.
const mostWord = 19

// ShownEndpoint is the URL of an endpoint without the values of its query, and without long parts of its path that have
// digits, as those have by which some services know who posts.
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

// Target says in short where to a subscription brings what is published.
func (s *Subscription) Target() string {
	switch {
	case s.Workflow != nil:
		return "workflow " + s.Workflow.Name
	case s.Endpoint != nil:
		return s.Endpoint.URL
	}
	return "queue " + s.Queue
}

// Publication is something that was published.
type Publication struct {
	ID        string            `json:"id"`
	Topic     string            `json:"topic"`
	Source    string            `json:"source,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
	Encrypted string            `json:"sealed,omitempty"` // ID of the payload's key, which is not here
	Damage    string            `json:"damage,omitempty"` // why there is no payload
	Headers   map[string]string `json:"headers,omitempty"`
	At        time.Time         `json:"at"`
	Due       time.Time         `json:"due"`
	Spread    bool              `json:"spread"`          // it went out
	Error     string            `json:"error,omitempty"` // why it goes to nobody
}

// PublicationOf is a publication as it is shown.
func PublicationOf(p *world.Publication) Publication {
	out := Publication{
		ID: p.ID, Topic: p.Topic, Source: p.Source, Payload: p.Payload, Encrypted: p.Encrypted, Damage: p.Damage, Headers: p.Headers, At: p.At, Due: p.Due, Spread: p.Spread, Error: p.Error,
	}
	if p.Encrypted != "" || p.Damage != "" {
		out.Payload = nil
	}
	return out
}
