package wire

// This file has topics. Durations are in nanoseconds. Secrets of endpoints go to the server, and never come from it.

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TopicAct is what changes something of topics: one of its members. See [world.Publisher].
type TopicAct struct {
	Publish []Publication `json:"publish,omitempty"`
	Spread  *Spread       `json:"spread,omitempty"`
}

// TopicActed is what a [TopicAct] came to.
type TopicActed struct {
	Answer
	Sent   []Sent `json:"sent,omitempty"`
	Spread bool   `json:"spread,omitempty"` // it was written
}

// Spread is a [world.Spread].
type Spread struct {
	Revision    int64               `json:"revision"`
	Done        []string            `json:"done,omitempty"`
	Aside       []Aside             `json:"aside,omitempty"`
	Messages    []Message           `json:"messages,omitempty"`
	Mail        []*Delivery         `json:"mail,omitempty"`
	Cut         *world.Cut          `json:"cut,omitempty"`
	Looked      []string            `json:"looked,omitempty"`
	Subscribe   *world.Subscription `json:"subscribe,omitempty"`
	Unsubscribe string              `json:"unsubscribe,omitempty"`
}

// Aside is a [world.Aside].
type Aside struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// OfSpread makes a message of a spread. They share memory.
func OfSpread(in *world.Spread) *Spread {
	return &Spread{
		Revision: in.Revision, Done: in.Done, Aside: list(in.Aside, func(a *world.Aside) Aside { return Aside(*a) }), Messages: OfMessages(in.Messages),
		Mail: list(in.Mail, OfDelivery), Cut: in.Cut, Looked: in.Looked, Subscribe: in.Subscribe, Unsubscribe: in.Unsubscribe,
	}
}

// World is the spread.
func (s *Spread) World() world.Spread {
	return world.Spread{
		Revision: s.Revision, Done: s.Done, Aside: list(s.Aside, func(a *Aside) world.Aside { return world.Aside(*a) }), Messages: WorldMessages(s.Messages),
		Mail: list(s.Mail, func(d **Delivery) world.Delivery { return *(*d).World() }), Cut: s.Cut, Looked: s.Looked, Subscribe: s.Subscribe, Unsubscribe: s.Unsubscribe,
	}
}

// Publication is a [world.Publication].
type Publication struct {
	ID        string            `json:"id,omitempty"`
	Topic     string            `json:"topic"`
	Source    string            `json:"source,omitempty"`
	Payload   Bytes             `json:"payload,omitzero"`
	Headers   map[string]string `json:"headers,omitempty"`
	Encrypted string            `json:"sealed,omitempty"`
	Delay     time.Duration     `json:"delay,omitempty"`
	Dedupe    string            `json:"dedupe,omitempty"`
	At        time.Time         `json:"at,omitzero"`
	Due       time.Time         `json:"due,omitzero"`
	Spread    bool              `json:"spread,omitempty"`
	Error     string            `json:"error,omitempty"`
	Damage    string            `json:"damage,omitempty"`
}

// OfPublications are publications as they are sent. They share memory.
func OfPublications(in []world.Publication) []Publication {
	return list(in, func(p *world.Publication) Publication {
		return Publication{p.ID, p.Topic, p.Source, p.Payload, p.Headers, p.Encrypted, p.Delay, p.Dedupe, p.At, p.Due, p.Spread, p.Error, p.Damage}
	})
}

// WorldPublications are publications of the world. They share memory.
func WorldPublications(in []Publication) []world.Publication {
	return list(in, func(p *Publication) world.Publication {
		return world.Publication{
			ID: p.ID, Topic: p.Topic, Source: p.Source, Payload: p.Payload, Headers: p.Headers, Encrypted: p.Encrypted, Delay: p.Delay, Dedupe: p.Dedupe,
			At: p.At, Due: p.Due, Spread: p.Spread, Error: p.Error, Damage: p.Damage,
		}
	})
}

// TopicQuery asks for what is to be spread, for publications, for waits that listen and their shapes, or else for
// subscriptions.
type TopicQuery struct {
	Names        []string          `json:"names,omitempty"` // of subscriptions; nil: all
	Due          int               `json:"due,omitempty"`   // at most so many that are due
	DueAfter     string            `json:"dueAfter,omitempty"`
	Publications *PublicationQuery `json:"publications,omitempty"`
	Shapes       bool              `json:"shapes,omitempty"`
	Listeners    *ListenerQuery    `json:"listeners,omitempty"`
}

// ListenerQuery is a [world.ListenerQuery].
type ListenerQuery struct {
	Any   []Hashed `json:"any,omitempty"`
	Back  bool     `json:"back,omitempty"`
	After string   `json:"after,omitempty"`
	Limit int      `json:"limit"`
}

// Hashed is a [world.Hashed].
type Hashed struct {
	Shape string `json:"shape"`
	Hash  int64  `json:"hash"`
}

// OfListenerQuery makes a message of a query.
func OfListenerQuery(in *world.ListenerQuery) *ListenerQuery {
	return &ListenerQuery{list(in.Any, func(h *world.Hashed) Hashed { return Hashed(*h) }), in.Back, in.After, in.Limit}
}

// World is the query.
func (q *ListenerQuery) World() world.ListenerQuery {
	return world.ListenerQuery{Any: list(q.Any, func(h *Hashed) world.Hashed { return world.Hashed(*h) }), Back: q.Back, After: q.After, Limit: q.Limit}
}

// Listener is a [world.Listener].
type Listener struct {
	Place string    `json:"place"`
	Run   string    `json:"run"`
	Wait  string    `json:"wait"`
	Shape string    `json:"shape"`
	Hash  int64     `json:"hash"`
	From  time.Time `json:"from,omitzero"`
	Last  int64     `json:"last,omitempty"`

	Match json.RawMessage `json:"match,omitempty"`
}

// OfListeners are waits that listen.
func OfListeners(in []world.Listener) []Listener {
	return list(in, func(l *world.Listener) Listener { return Listener(*l) })
}

// WorldListeners are waits of the world.
func WorldListeners(in []Listener) []world.Listener {
	return list(in, func(l *Listener) world.Listener { return world.Listener(*l) })
}

// PublicationQuery is a [world.PublicationQuery].
type PublicationQuery struct {
	Topic  string    `json:"topic,omitempty"`
	Any    []string  `json:"any,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	ID     string    `json:"id,omitempty"`
	Cursor string    `json:"cursor,omitempty"`
	Limit  int       `json:"limit,omitempty"`
}

// Topics are subscriptions, publications, waits that listen, or what is to be spread.
type Topics struct {
	Answer
	Subscriptions []world.Subscription `json:"subscriptions,omitempty"`
	Publications  []Publication        `json:"publications,omitempty"`
	Cursor        string               `json:"cursor,omitempty"`
	More          bool                 `json:"more,omitempty"`
	Last          string               `json:"last,omitempty"`
	Cut           *world.Cut           `json:"cut,omitempty"`
	Revision      int64                `json:"revision,omitempty"`
	Shapes        []string             `json:"shapes,omitempty"`
	Listeners     []Listener           `json:"listeners,omitempty"`
	Next          time.Time            `json:"next,omitzero"`
	Now           time.Time            `json:"now,omitzero"`
}

// OfDue makes a message of what is to be spread. They share memory.
func OfDue(in *world.Due) Topics {
	return Topics{
		Subscriptions: in.Subscriptions, Publications: OfPublications(in.Publications), More: in.More, Last: in.Last, Cut: in.Cut, Revision: in.Revision, Next: in.Next, Now: in.Now,
	}
}

// Due is what is to be spread.
func (t *Topics) Due() world.Due {
	return world.Due{
		Publications: WorldPublications(t.Publications), More: t.More, Last: t.Last, Cut: t.Cut, Subscriptions: t.Subscriptions, Revision: t.Revision, Next: t.Next, Now: t.Now,
	}
}
