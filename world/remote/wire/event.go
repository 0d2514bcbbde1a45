package wire

// This file has events.

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
)

type raw = json.RawMessage

// Event is a [world.Event]. Its fields have the names that they have there.
type Event struct {
	world.Event
	Payload Bytes         `json:"payload,omitzero"`
	Match   Bytes         `json:"match,omitzero"`
	Birth   *Birth        `json:"birth,omitempty"`
	Next    *Continuation `json:"next,omitempty"`
}

// Birth is a [world.Birth].
type Birth struct {
	world.Birth
	Attributes map[string]Bytes `json:"attributes,omitempty"`
}

// Continuation is a [world.Continuation].
type Continuation struct {
	world.Continuation
	Attributes map[string]Bytes `json:"attributes,omitempty"`
}

// OfEvent makes a message of an event. They share memory.
func OfEvent(in *world.Event) Event {
	e := Event{Event: *in, Payload: Bytes(in.Payload), Match: Bytes(in.Match)}
	e.Event.Payload, e.Event.Match, e.Event.Birth, e.Event.Next = nil, nil, nil, nil
	if in.Birth != nil {
		e.Birth = &Birth{Birth: *in.Birth, Attributes: named[raw, Bytes](in.Birth.Attributes)}
		e.Birth.Birth.Attributes = nil
	}
	if in.Next != nil {
		e.Next = &Continuation{Continuation: *in.Next, Attributes: named[raw, Bytes](in.Next.Attributes)}
		e.Next.Continuation.Attributes = nil
	}
	return e
}

// World is the event of a message. They share memory.
func (e *Event) World() world.Event {
	out := e.Event
	out.Payload, out.Match = raw(e.Payload), raw(e.Match)
	if e.Birth != nil {
		b := e.Birth.Birth
		b.Attributes = named[Bytes, raw](e.Birth.Attributes)
		out.Birth = &b
	}
	if e.Next != nil {
		n := e.Next.Continuation
		n.Attributes = named[Bytes, raw](e.Next.Attributes)
		out.Next = &n
	}
	return out
}

// OfEvents makes messages of events.
func OfEvents(in []world.Event) []Event { return list(in, OfEvent) }

// WorldEvents are the events of messages.
func WorldEvents(in []Event) []world.Event { return list(in, (*Event).World) }

// EventQuery is a [world.EventQuery] about a run.
type EventQuery struct {
	Run           string            `json:"run"`
	Cursor        string            `json:"cursor,omitempty"`
	Limit         int               `json:"limit,omitempty"`
	Types         []world.EventType `json:"types,omitempty"`
	CorrelationID string            `json:"correlationId,omitempty"`
}

// EventPage is a [world.EventPage].
type EventPage struct {
	Answer
	Events  []Event `json:"events,omitempty"`
	Cursor  string  `json:"cursor"`
	More    bool    `json:"more,omitempty"`
	Trimmed int64   `json:"trimmed,omitempty"`
}

// Whole reports whether it has what each has.
func (p *EventPage) Whole() bool { return p.Cursor != "" }
