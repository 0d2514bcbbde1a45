package api

import (
	"cmp"
	"time"

	"github.com/stepwell/stepwell/world"
)

// MessageQueue is a queue, and how many messages it has.
type MessageQueue struct {
	Name       string `json:"name"`
	Visibility Span   `json:"visibility" schema:"example=30s"`
	// MaxReceives is how often a message is received before it becomes a dead letter.
	MaxReceives int           `json:"maxReceives"`
	Limits      []QueueLimit  `json:"limits,omitempty"`
	Paused      *QueuePause   `json:"paused,omitempty"`
	Counts      MessageCounts `json:"counts"`
	// Oldest is since when the first ready message has waited. None: no message is ready.
	Oldest time.Time `json:"oldest,omitzero"`
}

// MessageQueues is a list of queues.
type MessageQueues struct {
	Queues []MessageQueue `json:"queues"`
}

// QueueLimit is a limit of a queue.
type QueueLimit struct {
	// Name is by default the queue's. Limits with the same name are one limit, whatever queue,
	// workflow or step has them.
	Name string `json:"name,omitempty"`
	// Number is how many messages of a key may be worked on at once. For a rate: how many are
	// received in each period.
	Number int `json:"number" schema:"min=1,max=1000000"`
	// Path is where the key is in the payload: a text, a number or a truth. A message without it is
	// refused. None: the limit has no keys.
	Path string `json:"path,omitempty" schema:"example=customer.id"`
	// Computed means that code computes the key. Only programs with the queue's definition can send
	// to the queue.
	Computed bool `json:"computed,omitempty"`
	// Per makes the limit a rate: its period, 1ms to 366d.
	Per Span `json:"per,omitempty" schema:"example=1m"`
	// Burst is how many messages a rate allows at one moment. 0: one.
	Burst int `json:"burst,omitempty" schema:"min=0"`
	// Weights multiply the number for some keys. A key without a weight has 1. A rate has none.
	Weights map[string]int `json:"weights,omitempty" schema:"min=1,max=100"`
}

// World returns the limit as the queue declares it.
func (l *QueueLimit) World(queue string) world.SaidLimit {
	return world.SaidLimit{
		Name: cmp.Or(l.Name, queue), Number: l.Number, Path: l.Path, Computed: l.Computed,
		Per: time.Duration(l.Per), Burst: l.Burst, Weights: l.Weights,
	}
}

// QueuePause means that nobody receives from a queue, and that a schedule starts no runs.
type QueuePause struct {
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// MessageCounts are the messages of a queue by state. Each count stops at 100,000.
type MessageCounts struct {
	Ready   int64 `json:"ready"`
	Delayed int64 `json:"delayed"`
	Out     int64 `json:"out"`
	Parked  int64 `json:"parked"`
	Dead    int64 `json:"dead"`
}

// ListQueues has no settings.
type ListQueues struct{}

// GetQueue names a queue.
type GetQueue struct {
	Queue string `path:"queue" json:"-"`
}

// DeclareQueue creates a queue, or changes its settings.
type DeclareQueue struct {
	Queue string `path:"queue" json:"-"`
	// Visibility is how long a received message is hidden from others: 1s to 12h. Default 30s.
	Visibility Span `json:"visibility,omitempty" schema:"example=30s"`
	// MaxReceives is how often a message is received before it becomes a dead letter. 0: 20.
	MaxReceives int `json:"maxReceives,omitempty" schema:"min=0,max=1000"`
	// Limits apply to messages that are sent from now on. Without it the declared limits stay. An
	// empty list ends them.
	Limits []QueueLimit `json:"limits,omitzero" schema:"maxItems=8"`
}

// DropQueue names a queue without messages.
type DropQueue struct {
	Queue string `path:"queue" json:"-"`
}

// PauseQueue stops all receives from a queue.
type PauseQueue struct {
	Queue string `path:"queue" json:"-"`
	// Reason is for people.
	Reason string `json:"reason,omitempty" audit:"reason"`
}

// ResumeQueue names a paused queue.
type ResumeQueue struct {
	Queue string `path:"queue" json:"-"`
}

// PurgeQueue deletes messages. Nobody can bring them back.
type PurgeQueue struct {
	Queue string `path:"queue" json:"-"`
	// Dead deletes only dead letters.
	Dead bool `json:"dead,omitempty"`
}

// RedriveQueue turns dead letters back into messages that were never received.
type RedriveQueue struct {
	Queue string `path:"queue" json:"-"`
	// IDs are the messages. None: all dead letters.
	IDs []string `json:"ids,omitzero" schema:"minItems=1,maxItems=1000"`
}

// QueueChanged says how many messages an operation changed.
type QueueChanged struct {
	Messages int `json:"messages"`
	// More means that there are others: ask again.
	More bool `json:"more"`
}

// Operations on queues.
var (
	ListQueuesOp = op[ListQueues, MessageQueues](Row{
		ID: "listQueues", Method: "GET", Path: "/v1/queues", Scope: Viewer,
		Summary: "List the queues, and how many messages each has", Answers: "The queues, by name.",
	})
	GetQueueOp = op[GetQueue, MessageQueue](Row{
		ID: "getQueue", Method: "GET", Path: "/v1/queues/{queue}", Scope: Viewer,
		Summary: "Show a queue, and how many messages it has", Answers: queueNow,
	})
	DeclareQueueOp = op[DeclareQueue, MessageQueue](Row{
		ID: "declareQueue", Method: "PUT", Path: "/v1/queues/{queue}", Scope: Operator, Audit: true, Twice: true,
		Summary: "Create a queue, or change its settings", Answers: queueNow,
	})
	DropQueueOp = op[DropQueue, None](Row{
		ID: "dropQueue", Method: "DELETE", Path: "/v1/queues/{queue}", Scope: Operator, Audit: true,
		Summary: "Delete a queue that has no messages", Answers: "It is deleted.",
	})
	PauseQueueOp = op[PauseQueue, MessageQueue](Row{
		ID: "pauseQueue", Method: "POST", Path: "/v1/queues/{queue}/pause", Scope: Operator, Audit: true, Twice: true,
		Summary: "Stop receives from a queue until you resume it", Answers: queueNow,
	})
	ResumeQueueOp = op[ResumeQueue, MessageQueue](Row{
		ID: "resumeQueue", Method: "POST", Path: "/v1/queues/{queue}/resume", Scope: Operator, Audit: true, Twice: true,
		Summary: "Allow receives from a paused queue again", Answers: queueNow,
	})
	PurgeQueueOp = op[PurgeQueue, QueueChanged](Row{
		ID: "purgeQueue", Method: "POST", Path: "/v1/queues/{queue}/purge", Scope: Operator, Audit: true,
		Summary: "Delete the messages of a queue, those that are out too, or its dead letters alone", Answers: "How many there were.",
	})
	RedriveQueueOp = op[RedriveQueue, QueueChanged](Row{
		ID: "redriveQueue", Method: "POST", Path: "/v1/queues/{queue}/redrive", Scope: Operator, Audit: true,
		Summary: "Turn dead letters back into messages, all or some", Answers: "How many there were.",
	})
)

const queueNow = "The queue as it is now."
