package operate

// Subscriptions and publications as the API and the command line show them.

import (
	"encoding/json"
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

// Endpoint is where a subscription posts.
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
		out.Endpoint = &Endpoint{URL: e.URL, Private: e.Private}
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
