package api

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Subscription is a subscription, and how many messages its queue has.
type Subscription struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	// Match selects publications that contain this JSON.
	Match    json.RawMessage    `json:"match,omitempty"`
	Ordered  bool               `json:"ordered,omitempty"`
	Revision int                `json:"revision,omitempty"`
	Queue    string             `json:"queue,omitempty"`
	Workflow *world.StartTarget `json:"workflow,omitempty"`
	Endpoint *Endpoint          `json:"endpoint,omitempty"`
	// By is who created it; code: a program that defines it.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at,omitzero"`
	// Messages is the queue that has its messages.
	Messages string        `json:"messages"`
	Paused   *QueuePause   `json:"paused,omitempty"`
	Counts   MessageCounts `json:"counts"`
	// Oldest is since when the first ready message has waited. None: no message is ready.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Endpoint is where a subscription posts. Parts of the URL that may be secret are left out.
type Endpoint struct {
	URL     string `json:"url"`
	Private bool   `json:"private,omitempty"`
	GiveUp  string `json:"giveUp,omitempty" schema:"example=3d"`
}

// Subscriptions is a list of subscriptions.
type Subscriptions struct {
	Subscriptions []Subscription `json:"subscriptions"`
}

// Publication is what was published.
type Publication struct {
	ID     string `json:"id"`
	Topic  string `json:"topic"`
	Source string `json:"source,omitempty"`
	// Payload is any JSON.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Sealed is the ID of the key that encrypts the payload, if the server lacks that key.
	Sealed string `json:"sealed,omitempty"`
	// Damage is why the payload cannot be read.
	Damage  string            `json:"damage,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	At      time.Time         `json:"at"`  // when it was published
	Due     time.Time         `json:"due"` // when it goes out
	// Spread means that it went out.
	Spread bool `json:"spread"`
	// Error is why nobody gets it.
	Error string `json:"error,omitempty"`
}

// PublicationPage is a page of publications.
type PublicationPage struct {
	Publications []Publication `json:"publications"`
	// Cursor is where the next page begins. None: this is the end.
	Cursor string `json:"cursor,omitempty"`
}

// Publish publishes under a topic.
type Publish struct {
	Topic string `path:"topic" json:"-"`
	// Key is the delivery ID, as deliveryId.
	Key string `header:"Idempotency-Key" json:"-"`
	// Payload is any JSON, at most 1 MiB.
	Payload json.RawMessage `json:"payload"`
	// Headers are about the publication, and not in it: at most 8 KiB.
	Headers map[string]string `json:"headers,omitempty"`
	// Source is who publishes. An ordered subscription gets the publications of one source under
	// one topic in order.
	Source string `json:"source,omitempty"`
	// Delay is how much later it goes out, to the subscriptions of that moment: at most 365d.
	Delay Span `json:"delay,omitempty" schema:"example=30s"`
	// At is when it goes out, instead of Delay.
	At time.Time `json:"at,omitzero"`
	// DeliveryID makes a second publication under the same topic within 24h the same publication.
	DeliveryID string `json:"deliveryId,omitempty"`
}

// ListPublications selects a page of publications.
type ListPublications struct {
	// Topic selects topics that match this pattern.
	Topic string `query:"topic" json:"-"`
	// Cursor continues after the page that had this cursor.
	Cursor string `query:"cursor" json:"-"`
	// Limit is the most publications of the page.
	Limit int `query:"limit" json:"-" schema:"min=1,max=1000,default=100"`
}

// ListSubscriptions has no settings.
type ListSubscriptions struct{}

// GetSubscription names a subscription.
type GetSubscription struct {
	Subscription string `path:"subscription" json:"-"`
}

// Subscribe creates a subscription, or changes its settings. It has one of Queue, Workflow and
// Endpoint.
type Subscribe struct {
	Subscription string `path:"subscription" json:"-"`
	// Pattern is a topic whose words may be * (any one word) and # (any number of words).
	Pattern string `json:"pattern" schema:"example=order.*"`
	// Match selects publications that contain this JSON.
	Match json.RawMessage `json:"match,omitempty"`
	// Ordered delivers what one source publishes under one topic one after the other, in order.
	Ordered bool `json:"ordered,omitempty"`
	// Revision that is lower than the current one is refused.
	Revision int `json:"revision,omitempty" schema:"min=0"`
	// Queue gets a message for each publication. It is declared before.
	Queue    string             `json:"queue,omitempty"`
	Workflow *SubscribeWorkflow `json:"workflow,omitempty"`
	Endpoint *SubscribeEndpoint `json:"endpoint,omitempty"`
}

// SubscribeWorkflow starts a run for each publication.
type SubscribeWorkflow struct {
	Name string `json:"name"`
	// Version 0 is the highest that a live worker has.
	Version int `json:"version,omitempty" schema:"min=0"`
	// Key is the template of the idempotency key: {payload.a.b}, {topic}, {id}, {header.name}.
	// None: each message starts one run.
	Key string `json:"key,omitempty" schema:"example=ship-{payload.order}"`
	// Attributes are templates of the attributes of the runs.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// SubscribeEndpoint posts each publication.
type SubscribeEndpoint struct {
	URL string `json:"url"`
	// Private permits addresses in private networks, if the server does.
	Private bool `json:"private,omitempty"`
	// GiveUp is how long a message is tried. Then it becomes a dead letter.
	GiveUp Span `json:"giveUp,omitempty" schema:"example=3d"`
	// Secret signs the requests. None: a new subscription gets a new secret.
	Secret string `json:"secret,omitempty"`
}

// Subscribed is the current state of a subscription.
type Subscribed struct {
	Subscription Subscription `json:"subscription"`
	// Secret is the new secret of its endpoint. It is shown only once.
	Secret string `json:"secret,omitempty"`
}

// Unsubscribe names a subscription.
type Unsubscribe struct {
	Subscription string `path:"subscription" json:"-"`
}

// PauseSubscription stops the deliveries of a subscription.
type PauseSubscription struct {
	Subscription string `path:"subscription" json:"-"`
	// Reason is for people.
	Reason string `json:"reason,omitempty" audit:"reason"`
}

// ResumeSubscription names a paused subscription.
type ResumeSubscription struct {
	Subscription string `path:"subscription" json:"-"`
}

// Redeliver delivers dead letters of a subscription again.
type Redeliver struct {
	Subscription string `path:"subscription" json:"-"`
	// IDs are the messages. None: all dead letters.
	IDs []string `json:"ids,omitzero" schema:"minItems=1,maxItems=1000"`
}

// RotateSecret names a subscription with an endpoint.
type RotateSecret struct {
	Subscription string `path:"subscription" json:"-"`
}

// NewSecret is a new secret. It is shown only once.
type NewSecret struct {
	Secret string `json:"secret"`
}

// Operations on topics.
var (
	PublishOp = op[Publish, SentMessage](Row{
		ID: "publish", Method: "POST", Path: "/v1/topics/{topic}", Scope: Operator, Status: 201,
		Summary: "Publish under a topic, to all of its current subscriptions", Answers: "It is durable.",
	})
	ListPublicationsOp = op[ListPublications, PublicationPage](Row{
		ID: "listPublications", Method: "GET", Path: "/v1/publications", Scope: Viewer, Wide: true,
		Summary: "List publications, newest first; each is kept for at least a day",
		Answers: "A page. It may be short, even empty, and have a cursor.",
	})
	ListSubscriptionsOp = op[ListSubscriptions, Subscriptions](Row{
		ID: "listSubscriptions", Method: "GET", Path: "/v1/subscriptions", Scope: Viewer,
		Summary: "List the subscriptions, and the state of their queues", Answers: "The subscriptions, by name.",
	})
	GetSubscriptionOp = op[GetSubscription, Subscription](Row{
		ID: "getSubscription", Method: "GET", Path: "/v1/subscriptions/{subscription}", Scope: Viewer,
		Summary: "Show a subscription and the state of its queue", Answers: subscriptionNow,
	})
	SubscribeOp = op[Subscribe, Subscribed](Row{
		ID: "subscribe", Method: "PUT", Path: "/v1/subscriptions/{subscription}", Scope: Operator, Audit: true,
		Summary: "Create a subscription, or change its settings",
		Answers: "The current state of the subscription, and the new secret of its endpoint, which is shown only once.",
	})
	UnsubscribeOp = op[Unsubscribe, None](Row{
		ID: "unsubscribe", Method: "DELETE", Path: "/v1/subscriptions/{subscription}", Scope: Operator, Audit: true,
		Summary: "End a subscription, and delete the unprocessed messages in its own queue",
		Answers: "It is deleted; what was published earlier was delivered.",
	})
	PauseSubscriptionOp = op[PauseSubscription, Subscription](Row{
		ID: "pauseSubscription", Method: "POST", Path: "/v1/subscriptions/{subscription}/pause", Scope: Operator, Audit: true, Twice: true,
		Summary: "Stop the deliveries of a subscription until you resume it", Answers: subscriptionNow,
	})
	ResumeSubscriptionOp = op[ResumeSubscription, Subscription](Row{
		ID: "resumeSubscription", Method: "POST", Path: "/v1/subscriptions/{subscription}/resume", Scope: Operator, Audit: true, Twice: true,
		Summary: "Resume the deliveries of a subscription", Answers: subscriptionNow,
	})
	RedeliverOp = op[Redeliver, QueueChanged](Row{
		ID: "redeliver", Method: "POST", Path: "/v1/subscriptions/{subscription}/redeliver", Scope: Operator, Audit: true,
		Summary: "Deliver dead letters of a subscription again, all or some", Answers: "How many there were.",
	})
	RotateSecretOp = op[RotateSecret, NewSecret](Row{
		ID: "rotateSecret", Method: "POST", Path: "/v1/subscriptions/{subscription}/rotate-secret", Scope: Operator, Audit: true,
		Summary: "Create a new secret for a subscription's endpoint; the previous one is valid until the next rotation",
		Answers: "The secret, which is shown only once.",
	})
)

const subscriptionNow = "The subscription as it is now."
