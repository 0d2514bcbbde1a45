package api

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Message is a message that was received, or is looked at.
type Message struct {
	ID string `json:"id"`
	// Receipt is the right to settle a received message.
	Receipt string             `json:"receipt,omitempty"`
	State   world.MessageState `json:"state,omitempty"` // of a message that is looked at
	// Payload is any JSON.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Sealed is the ID of the key that encrypts the payload, if the server lacks that key.
	Sealed string `json:"sealed,omitempty"`
	// Damage is why the payload cannot be read.
	Damage   string            `json:"damage,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Group    string            `json:"group,omitempty"`
	Priority int               `json:"priority"` // 1 to 4
	SentAt   time.Time         `json:"sentAt"`
	// Receives is how often it was received, this time included.
	Receives int `json:"receives"`
	// Until is when a received message is ready again. For one that is looked at: when it can be
	// received.
	Until time.Time `json:"until,omitzero"`
	// Error is the last reason that a receiver gave.
	Error string `json:"error,omitempty"`
}

// NewMessage is a message to send.
type NewMessage struct {
	// Payload is any JSON, at most 1 MiB.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Group orders messages: those of a group are received one at a time, in the order in which
	// they were sent. A message of a group has no delay.
	Group string `json:"group,omitempty"`
	// Delay is how much later it is received, at the earliest: at most 365d.
	Delay Span `json:"delay,omitempty" schema:"example=30s"`
	// Priority is 1 to 4. Messages with 4 are received first. 0: 2.
	Priority int `json:"priority,omitempty" schema:"min=0,max=4"`
	// DedupeID makes a second send within DedupeWindow the same message.
	DedupeID string `json:"dedupeId,omitempty"`
	// DedupeWindow is at most 7d. Default 5m.
	DedupeWindow Span `json:"dedupeWindow,omitempty" schema:"example=5m"`
	// Headers are about the message, and not in it: at most 8 KiB.
	Headers map[string]string `json:"headers,omitempty"`
}

// SendMessages is one message, or Messages without any other field.
type SendMessages struct {
	Queue string `path:"queue" json:"-"`
	// Key is the dedupe ID of one message, as dedupeId.
	Key string `header:"Idempotency-Key" json:"-"`
	NewMessage
	Messages []NewMessage `json:"messages,omitempty" schema:"minItems=1,maxItems=1000"`
}

// Sent are the messages that were sent, in the order in which they were given.
type Sent struct {
	Messages []SentMessage `json:"messages"`
}

// SentMessage is a message or a publication that is durable.
type SentMessage struct {
	ID string `json:"id"`
	// Duplicate means that it was sent before, under the same ID.
	Duplicate bool `json:"duplicate,omitempty"`
}

// PeekMessages selects messages of a queue.
type PeekMessages struct {
	Queue string `path:"queue" json:"-"`
	// State selects only messages in this state.
	State world.MessageState `query:"state" json:"-"`
	// Cursor continues after the page that had this cursor.
	Cursor string `query:"cursor" json:"-"`
	// Limit is the most messages of the page.
	Limit int `query:"limit" json:"-" schema:"min=1,max=1000,default=100"`
}

// MessagePage is a page of messages.
type MessagePage struct {
	Messages []Message `json:"messages"`
	// Cursor is where the next page begins. None: this is the end.
	Cursor string `json:"cursor,omitempty"`
}

// ReceiveMessages receives messages that are ready.
type ReceiveMessages struct {
	Queue string `path:"queue" json:"-"`
	// Most is the most messages.
	Most int `json:"most,omitempty" schema:"min=1,max=100,default=1"`
	// Wait is how long to wait for a message if there is none: at most 30s.
	Wait Span `json:"wait,omitempty" schema:"example=20s"`
	// Visibility is how long the messages are hidden from others: 1s to 12h. None: as the queue
	// declares.
	Visibility Span `json:"visibility,omitempty" schema:"example=30s"`
	// Match selects messages whose payload contains this JSON, of the first 1,000 that are ready.
	Match json.RawMessage `json:"match,omitempty"`
}

// ReceivedMessages are the messages; none if none was ready.
type ReceivedMessages struct {
	Messages []Message `json:"messages"`
}

// AckMessages ends the receives of messages whose work is done.
type AckMessages struct {
	Queue    string   `path:"queue" json:"-"`
	Receipts []string `json:"receipts" schema:"minItems=1,maxItems=1000"`
}

// NackMessages gives messages back.
type NackMessages struct {
	Queue    string   `path:"queue" json:"-"`
	Receipts []string `json:"receipts" schema:"minItems=1,maxItems=1000"`
	// Delay is how much later they are ready again. None: at once.
	Delay Span `json:"delay,omitempty" schema:"example=30s"`
	// Error is for people.
	Error string `json:"error,omitempty"`
}

// ExtendMessages keeps messages hidden from others for longer.
type ExtendMessages struct {
	Queue    string   `path:"queue" json:"-"`
	Receipts []string `json:"receipts" schema:"minItems=1,maxItems=1000"`
	// Visibility counts from now. None: as the queue declares.
	Visibility Span `json:"visibility,omitempty" schema:"example=30s"`
}

// BuryMessages makes messages dead letters.
type BuryMessages struct {
	Queue    string   `path:"queue" json:"-"`
	Receipts []string `json:"receipts" schema:"minItems=1,maxItems=1000"`
	// Error is for people.
	Error string `json:"error,omitempty"`
}

// Settled says which receipts were valid.
type Settled struct {
	// Settled is how many receipts were valid.
	Settled int `json:"settled"`
	// Old are the receipts of receives that are over: another receiver has the message since, or it
	// is gone. They changed nothing.
	Old []string `json:"old"`
}

// Operations on messages.
var (
	SendMessagesOp = op[SendMessages, Sent](Row{
		ID: "sendMessages", Method: "POST", Path: "/v1/queues/{queue}/messages", Scope: Operator, Status: 201,
		Summary: "Send a message to a queue, or up to 1,000, all or none",
		Answers: "The messages are durable; they are in the order in which they were given.",
	})
	PeekMessagesOp = op[PeekMessages, MessagePage](Row{
		ID: "peekMessages", Method: "GET", Path: "/v1/queues/{queue}/messages", Scope: Viewer, Wide: true,
		Summary: "Look at the messages of a queue in the order in which they were sent, without changing anything",
		Answers: "A page of messages. It may be short, even empty, and have a cursor.",
	})
	ReceiveMessagesOp = op[ReceiveMessages, ReceivedMessages](Row{
		ID: "receiveMessages", Method: "POST", Path: "/v1/queues/{queue}/receive", Scope: Operator, Twice: true, Waits: true,
		Summary: "Receive messages that are ready, or wait for some; a message that is not settled in time is received again",
		Answers: "The messages; an empty list if there were none.",
	})
	AckMessagesOp = op[AckMessages, Settled](Row{
		ID: "ackMessages", Method: "POST", Path: "/v1/queues/{queue}/ack", Scope: Operator,
		Summary: "Acknowledge messages: their work is done, and they are deleted", Answers: settledNow,
	})
	NackMessagesOp = op[NackMessages, Settled](Row{
		ID: "nackMessages", Method: "POST", Path: "/v1/queues/{queue}/nack", Scope: Operator,
		Summary: "Give messages back, to be received again at once or later", Answers: settledNow,
	})
	ExtendMessagesOp = op[ExtendMessages, Settled](Row{
		ID: "extendMessages", Method: "POST", Path: "/v1/queues/{queue}/extend", Scope: Operator, Twice: true,
		Summary: "Keep messages hidden from others for longer, counted from now", Answers: settledNow,
	})
	BuryMessagesOp = op[BuryMessages, Settled](Row{
		ID: "buryMessages", Method: "POST", Path: "/v1/queues/{queue}/bury", Scope: Operator,
		Summary: "Make messages dead letters", Answers: settledNow,
	})
)

const settledNow = "Which receipts were valid; the others changed nothing."
