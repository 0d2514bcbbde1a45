package operate

// Queues and their messages as the API and the command line show them.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Queue is a queue, and how many messages it has.
type Queue struct {
	Name        string        `json:"name"`
	Visibility  string        `json:"visibility"` // as durations are written: 30s
	MaxReceives int           `json:"maxReceives"`
	Limits      []QueueLimit  `json:"limits,omitempty"`
	Paused      *QueuePause   `json:"paused,omitempty"`
	Counts      MessageCounts `json:"counts"`
	Oldest      time.Time     `json:"oldest,omitzero"` // since when the first message that is ready is so
}

// QueueLimit is a limit of a queue, as it is declared.
type QueueLimit struct {
	Name     string        `json:"name,omitempty"` // none: the queue's
	Number   int           `json:"number"`
	Path     string        `json:"path,omitempty"`     // of the key in the payload
	Computed bool          `json:"computed,omitempty"` // code computes the key
	Per      stepwell.Span `json:"per,omitempty"`      // of a rate
	Burst    int           `json:"burst,omitempty"`

	Weights map[string]int `json:"weights,omitempty"` // of keys, which have so many times the places
}

// World is the limit as queue declares it.
func (l *QueueLimit) World(queue string) world.SaidLimit {
	return world.SaidLimit{
		Name: cmp.Or(l.Name, queue), Number: l.Number, Path: l.Path, Computed: l.Computed, Per: time.Duration(l.Per), Burst: l.Burst, Weights: l.Weights,
	}
}

// Text tells people what the limit lets in, of what.
func (l *QueueLimit) Text() string {
	text := fmt.Sprintf("%d at once", l.Number)
	if l.Per > 0 {
		if text = fmt.Sprintf("%d in %s", l.Number, l.Per); l.Burst > 1 {
			text += fmt.Sprintf(", %d at one moment", l.Burst)
		}
	}
	switch {
	case l.Path != "":
		text += ", for each " + l.Path
	case l.Computed:
		text += ", for each key that code computes"
	}
	if n := len(l.Weights); n > 0 {
		text += "; weights: " + human.Count(n, "key")
	}
	return text
}

// QueuePause says why nothing is received from a queue.
type QueuePause world.QueuePause

// MessageCounts are the messages of a queue by their state.
type MessageCounts struct {
	Ready   int64 `json:"ready"`
	Delayed int64 `json:"delayed"`
	Out     int64 `json:"out"`
	Parked  int64 `json:"parked"`
	Dead    int64 `json:"dead"`
}

// QueueOf is a queue as it is shown.
func QueueOf(q *world.QueueStats) Queue {
	of := q.Or()
	n := q.Counts
	var limits []QueueLimit
	for _, l := range q.Limits {
		limits = append(limits, QueueLimit{Name: l.Name, Number: l.Number, Path: l.Path, Computed: l.Computed, Per: stepwell.Span(l.Per), Burst: l.Burst, Weights: l.Weights})
	}
	return Queue{
		Limits: limits,
		Name:   q.Name, Visibility: human.SpanText(of.Visibility), MaxReceives: of.MaxReceives, Paused: (*QueuePause)(q.Paused), Oldest: q.Oldest,
		Counts: MessageCounts{n[world.MessageReady], n[world.MessageDelayed], n[world.MessageOut], n[world.MessageParked], n[world.MessageDead]},
	}
}

// Message is a message that was received, or is looked at.
type Message struct {
	ID        string             `json:"id"`
	Receipt   string             `json:"receipt,omitempty"` // of one that was received
	State     world.MessageState `json:"state,omitempty"`   // of one that is looked at
	Payload   json.RawMessage    `json:"payload,omitempty"`
	Encrypted string             `json:"sealed,omitempty"` // ID of the payload's key, which is not here
	Damage    string             `json:"damage,omitempty"` // why there is no payload
	Headers   map[string]string  `json:"headers,omitempty"`
	Group     string             `json:"group,omitempty"`
	Priority  int                `json:"priority"` // from 1 to 4
	SentAt    time.Time          `json:"sentAt"`
	Receives  int                `json:"receives"`
	Until     time.Time          `json:"until,omitzero"`
	Error     string             `json:"error,omitempty"`
}

// MessagesOf are messages as they are shown.
func MessagesOf(all []world.Message) []Message {
	out := make([]Message, len(all))
	for i := range all {
		m := &all[i]
		out[i] = Message{
			ID: m.ID, Receipt: m.Receipt, State: m.State, Payload: m.Payload, Encrypted: m.Encrypted, Damage: m.Damage, Headers: m.Headers, Group: m.Group,
			Priority: m.Priority, SentAt: m.SentAt, Receives: m.Receives, Until: m.Until, Error: m.Error,
		}
		if m.Encrypted != "" || m.Damage != "" {
			out[i].Payload = nil
		}
	}
	return out
}
