package wire

// This file has queues of messages. Durations are in nanoseconds.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// MessageAct is what changes something of queues: one of its members. See [world.Messenger].
type MessageAct struct {
	Declare *world.MessageQueue `json:"declare,omitempty"`
	Pause   *QueuePaused        `json:"pause,omitempty"`
	Drop    string              `json:"drop,omitempty"` // a queue
	Send    []Message           `json:"send,omitempty"`
	Receive *ReceiveQuery       `json:"receive,omitempty"`
	Settle  []Settlement        `json:"settle,omitempty"`
	Purge   *Purge              `json:"purge,omitempty"`
	Redrive *Redrive            `json:"redrive,omitempty"`
}

// MessageActed is what a [MessageAct] came to.
type MessageActed struct {
	Answer
	Sent     []Sent    `json:"sent,omitempty"`
	Received *Received `json:"received,omitempty"`
	Settled  []bool    `json:"settled,omitempty"`
	Messages int       `json:"messages,omitempty"` // purged, or made messages again
	More     bool      `json:"more,omitempty"`
}

// QueuePaused has nothing received from a queue, or ends that.
type QueuePaused struct {
	Queue string            `json:"queue"`
	Pause *world.QueuePause `json:"pause,omitempty"` // nil: it ends
}

// Purge deletes messages.
type Purge struct {
	Queue string `json:"queue"`
	Dead  bool   `json:"dead,omitempty"` // dead letters alone
}

// Redrive makes dead letters messages again.
type Redrive struct {
	Queue string   `json:"queue"`
	IDs   []string `json:"ids,omitempty"` // nil: all
}

// ReceiveQuery is a [world.ReceiveQuery].
type ReceiveQuery struct {
	Queue      string        `json:"queue"`
	Limit      int           `json:"limit"`
	Visibility time.Duration `json:"visibility,omitempty"`
	Match      raw           `json:"match,omitempty"`
}

// Settlement is a [world.Settlement].
type Settlement struct {
	Receipt string           `json:"receipt"`
	Kind    world.SettleKind `json:"kind"`
	After   time.Duration    `json:"after,omitempty"`
	Error   string           `json:"error,omitempty"`
	Queues  string           `json:"queues,omitempty"`
}

// Sent is a [world.Sent].
type Sent struct {
	ID        string `json:"id"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

// Received is a [world.Received].
type Received struct {
	Messages []Message `json:"messages,omitempty"`
	More     bool      `json:"more,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	Now      time.Time `json:"now"`
}

// OfReceived makes a message of what was received. They share memory.
func OfReceived(in *world.Received) *Received {
	return &Received{Messages: OfMessages(in.Messages), More: in.More, Next: in.Next, Now: in.Now}
}

// World is what was received.
func (r *Received) World() world.Received {
	if r == nil {
		return world.Received{}
	}
	return world.Received{Messages: WorldMessages(r.Messages), More: r.More, Next: r.Next, Now: r.Now}
}

// Message is a [world.Message].
type Message struct {
	ID        string             `json:"id,omitempty"`
	Queue     string             `json:"queue"`
	Group     string             `json:"group,omitempty"`
	Payload   Bytes              `json:"payload,omitzero"`
	Headers   map[string]string  `json:"headers,omitempty"`
	Encrypted string             `json:"sealed,omitempty"`
	Priority  int                `json:"priority,omitempty"`
	Delay     time.Duration      `json:"delay,omitempty"`
	Dedupe    string             `json:"dedupe,omitempty"`
	Window    time.Duration      `json:"window,omitempty"`
	Keys      map[string]string  `json:"keys,omitempty"`
	SentAt    time.Time          `json:"sentAt,omitzero"`
	Receives  int                `json:"receives,omitempty"`
	Receipt   string             `json:"receipt,omitempty"`
	Until     time.Time          `json:"until,omitzero"`
	State     world.MessageState `json:"state,omitempty"`
	Error     string             `json:"error,omitempty"`
	Damage    string             `json:"damage,omitempty"`
}

// OfMessages are messages as they are sent. They share memory.
func OfMessages(in []world.Message) []Message {
	return list(in, func(m *world.Message) Message {
		return Message{
			ID: m.ID, Queue: m.Queue, Group: m.Group, Payload: m.Payload, Headers: m.Headers, Encrypted: m.Encrypted, Priority: m.Priority, Delay: m.Delay,
			Dedupe: m.Dedupe, Window: m.Window, Keys: m.Keys, SentAt: m.SentAt, Receives: m.Receives, Receipt: m.Receipt, Until: m.Until, State: m.State, Error: m.Error, Damage: m.Damage,
		}
	})
}

// WorldMessages are messages of the world. They share memory.
func WorldMessages(in []Message) []world.Message {
	return list(in, func(m *Message) world.Message {
		return world.Message{
			ID: m.ID, Queue: m.Queue, Group: m.Group, Payload: m.Payload, Headers: m.Headers, Encrypted: m.Encrypted, Priority: m.Priority, Delay: m.Delay,
			Dedupe: m.Dedupe, Window: m.Window, Keys: m.Keys, SentAt: m.SentAt, Receives: m.Receives, Receipt: m.Receipt, Until: m.Until, State: m.State, Error: m.Error, Damage: m.Damage,
		}
	})
}

// QueueQuery asks for queues, or for the messages of one.
type QueueQuery struct {
	Names []string   `json:"names,omitempty"` // of queues; nil: all
	Peek  *PeekQuery `json:"peek,omitempty"`
}

// PeekQuery is a [world.PeekQuery].
type PeekQuery struct {
	Queue  string             `json:"queue"`
	State  world.MessageState `json:"state,omitempty"`
	Cursor string             `json:"cursor,omitempty"`
	Limit  int                `json:"limit,omitempty"`
}

// Queues are queues, or a page of messages.
type Queues struct {
	Answer
	Queues   []QueueStats `json:"queues,omitempty"`
	Messages []Message    `json:"messages,omitempty"`
	Cursor   string       `json:"cursor,omitempty"`
}

// QueueStats are [world.QueueStats].
type QueueStats struct {
	world.MessageQueue
	Paused *world.QueuePause            `json:"paused,omitempty"`
	Counts map[world.MessageState]int64 `json:"counts,omitempty"`
	Oldest time.Time                    `json:"oldest,omitzero"`
}

// OfQueues are queues as they are told of.
func OfQueues(in []world.QueueStats) []QueueStats {
	return list(in, func(q *world.QueueStats) QueueStats { return QueueStats(*q) })
}

// WorldQueues are queues of the world.
func WorldQueues(in []QueueStats) []world.QueueStats {
	return list(in, func(q *QueueStats) world.QueueStats { return world.QueueStats(*q) })
}
