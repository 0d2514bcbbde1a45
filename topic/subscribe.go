package topic

// This file says who gets what is published.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
)

// Subscription delivers what is published under the topics of a pattern to a target. It is a
// definition: an App that has it creates or updates the subscription in the database when it begins
// to run. The subscription stays until [Unsubscribe], also without the program.
type Subscription struct {
	definition
	says    world.Subscription
	declare func(ctx context.Context, keep world.Messenger) error // nil: there is nothing to declare
	fault   error
}

type definition = stepwell.Definition

// SubOption is an option of a subscription: [Where], [Ordered], [Revision]. Those to a workflow
// also take [KeyFrom] and [AttributeFrom], and those to an endpoint [Secret], [AllowPrivate] and
// [GiveUpAfter].
type SubOption func(*Subscription)

// Where selects payloads that contain this JSON, as defined by [stepwell.Match].
func Where(m stepwell.Match) SubOption {
	return func(s *Subscription) {
		b, err := json.Marshal(m)
		s.says.Match, s.fault = b, cmp.Or(s.fault, err)
	}
}

// Ordered delivers what one [Source] publishes under one topic one at a time, in order. A failed
// delivery holds up later ones until it succeeds or becomes a dead letter.
func Ordered() SubOption { return func(s *Subscription) { s.says.Ordered = true } }

// Revision numbers the versions of a subscription. Raise it with each change. A program with a
// lower revision than the database's changes nothing, so an older deploy does not undo the change.
func Revision(n int) SubOption { return func(s *Subscription) { s.says.Revision = n } }

// KeyFrom is a template for the idempotency keys of started runs: order-{payload.order}. The fields
// are {payload.a.b}, {topic}, {id} (of the publication) and {header.name}; {{ and }} are braces. A
// payload without the field becomes a dead letter, and so does one whose key would begin with the
// reserved "retry:". Without KeyFrom each message starts one run.
func KeyFrom(template string) SubOption {
	return ofWorkflow("KeyFrom", func(t *world.StartTarget) { t.Key = template })
}

// AttributeFrom sets an attribute of started runs by a template: see [KeyFrom].
func AttributeFrom(name, template string) SubOption {
	return ofWorkflow("AttributeFrom", func(t *world.StartTarget) {
		if t.Attributes == nil {
			t.Attributes = map[string]string{}
		}
		t.Attributes[name] = template
	})
}

// Secret sets the secret that signs requests to the endpoint: whsec_ and 24 to 64 bytes in base64.
// A new secret applies at once; the previous one also signs until the next change. Without Secret,
// one is created: [Subscribe] returns it, and for a subscription of a definition the command
// stepwell topics rotate-secret creates and shows one.
func Secret(secret string) SubOption {
	return ofEndpoint("Secret", func(t *world.PostTarget) { t.Secrets = []world.Secret{world.Secret(secret)} })
}

// AllowPrivate permits an endpoint in a private network or on the same machine, if the server
// permits that too.
func AllowPrivate() SubOption {
	return ofEndpoint("AllowPrivate", func(t *world.PostTarget) { t.Private = true })
}

// GiveUpAfter is how long an endpoint is retried before the delivery becomes a dead letter: default
// 3 days, at most 30 days.
func GiveUpAfter(d time.Duration) SubOption {
	return ofEndpoint("GiveUpAfter", func(t *world.PostTarget) { t.GiveUp = d })
}

func ofWorkflow(option string, f func(*world.StartTarget)) SubOption {
	return func(s *Subscription) {
		if s.says.Workflow == nil {
			s.fault = cmp.Or(s.fault, fmt.Errorf("%w: %s is for subscriptions of workflows", world.ErrInvalid, option))
			return
		}
		f(s.says.Workflow)
	}
}

func ofEndpoint(option string, f func(*world.PostTarget)) SubOption {
	return func(s *Subscription) {
		if s.says.Endpoint == nil {
			s.fault = cmp.Or(s.fault, fmt.Errorf("%w: %s is for subscriptions of endpoints", world.ErrInvalid, option))
			return
		}
		f(s.says.Endpoint)
	}
}

// ToQueue subscribes a queue. Each publication is delivered to it exactly once.
func ToQueue[T any](name, pattern string, q *queue.Queue[T], opts ...SubOption) *Subscription {
	s := &Subscription{says: world.Subscription{Name: name, Pattern: pattern}}
	if q == nil {
		s.fault = kit.Missing("the queue")
	} else {
		s.says.Queue, s.declare = q.Name(), q.Declare
	}
	return s.with(opts)
}

// ToWorkflow subscribes a workflow. Each publication starts a run exactly once, with the payload as
// its input and with the options of the workflow's definition. A payload that does not fit the
// input becomes a dead letter. Publications wait until some worker has registered the workflow.
func ToWorkflow[In, Out any](name, pattern string, w *stepwell.Workflow[In, Out], opts ...SubOption) *Subscription {
	s := &Subscription{says: world.Subscription{Name: name, Pattern: pattern, Workflow: &world.StartTarget{}}}
	if w == nil {
		s.fault = kit.Missing("the workflow")
	} else {
		s.says.Workflow.Name = w.Name()
	}
	return s.with(opts)
}

// ToEndpoint subscribes a URL. Each payload is posted to it at least once, signed as Standard
// Webhooks defines. Servers post: without a server on the database nothing is sent.
func ToEndpoint(name, pattern, url string, opts ...SubOption) *Subscription {
	s := &Subscription{says: world.Subscription{Name: name, Pattern: pattern, Endpoint: &world.PostTarget{URL: url}}}
	return s.with(opts)
}

// with applies options, and looks for faults.
func (s *Subscription) with(opts []SubOption) *Subscription {
	if fault := kit.Given(opts, func(o SubOption) { o(s) }); fault != nil {
		s.fault = fault
	}
	s.says.Made.By = "code"
	if s.fault == nil {
		s.fault = world.CheckSubscription(&s.says)
	} else {
		s.fault = fmt.Errorf("subscription %.140s: %w", s.says.Name, s.fault)
	}
	s.definition = kit.NewPart(kit.Part{Fault: s.fault, Run: s.stand}).(stepwell.Definition)
	return s
}

// Name returns the subscription's name.
func (s *Subscription) Name() string { return s.says.Name }

// stand makes the subscription when an App begins to run.
func (s *Subscription) stand(ctx context.Context, room kit.App) {
	kit.Stand(ctx, room.Logger.With("subscription", s.says.Name), "the subscription", "Raise topic.Revision if this program is the newer one", func() error {
		_, err := s.make(ctx, room)
		return err
	})
}

func (s *Subscription) make(ctx context.Context, room kit.App) (secret world.Secret, err error) {
	if s.declare != nil {
		if err := s.declare(ctx, room.Messages); err != nil {
			return "", err
		}
	}
	says := s.says
	says.Made.At = time.Now().UTC()
	return courier.Subscribe(ctx, room.Courier.Spread, says)
}

// Subscribe creates a subscription now, or updates the one with its name. Use it for subscriptions
// that are not in a program's definitions. Earlier publications go to the subscriptions of their
// time. If a secret was created for an endpoint, Subscribe returns it, this once.
//
// Errors: [stepwell.ErrInvalid]; [world.ErrConflict] if the database has a higher revision, or the
// target cannot change.
func Subscribe(ctx context.Context, app *stepwell.App, s *Subscription) (secret string, err error) {
	if s == nil {
		return "", fmt.Errorf("subscribe: %w", kit.Missing("the subscription"))
	}
	room, _, err := open(app)
	if err = cmp.Or(s.fault, err); err != nil {
		return "", fmt.Errorf("subscribe: %w", err)
	}
	made, err := s.make(ctx, room)
	if err != nil {
		return "", fmt.Errorf("subscribe: %w", err)
	}
	return string(made), nil
}

// Unsubscribe ends a subscription, after it got all earlier publications. Waiting deliveries in a
// queue of its own are deleted; a queue of the program stays. The error is [stepwell.ErrNotFound]
// if there is none with the name.
func Unsubscribe(ctx context.Context, app *stepwell.App, name string) error {
	_, s, err := open(app)
	if err == nil {
		err = s.Unsubscribe(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	return nil
}

// Subscriptions returns all subscriptions, by name, without the secrets of endpoints.
func Subscriptions(ctx context.Context, app *stepwell.App) ([]world.Subscription, error) {
	_, s, err := open(app)
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	all, err := s.Topics.Subscriptions(ctx)
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	for i := range all {
		all[i] = courier.Hide(all[i])
	}
	return all, nil
}
