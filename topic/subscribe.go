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

// Subscription says who gets what is published under the topics that a pattern means. It is a definition: an App that
// has it makes it in the database when it begins to run, or changes it there to what the program says. It stays
// when the program goes, until somebody ends it: see [Unsubscribe].
type Subscription struct {
	definition
	says    world.Subscription
	declare func(ctx context.Context, keep world.Messenger) error // nil: there is nothing to declare
	fault   error
}

type definition = stepwell.Definition

// SubOption says something of a subscription: [Where], [Ordered], [Revision]; of a workflow's: [KeyFrom],
// [AttributeFrom]; of an endpoint's: [Secret], [AllowPrivate], [GiveUpAfter].
type SubOption func(*Subscription)

// Where has only those payloads come that contain this JSON, by the rule of [stepwell.Match].
func Where(m stepwell.Match) SubOption {
	return func(s *Subscription) {
		b, err := json.Marshal(m)
		s.says.Match, s.fault = b, cmp.Or(s.fault, err)
	}
}

// Ordered has what one [Source] publishes under one topic come one after the other, in order. One that fails holds up
// those behind it until it succeeds or is a dead letter.
func Ordered() SubOption { return func(s *Subscription) { s.says.Ordered = true } }

// Revision is a number that a program raises when it changes the subscription: one that is lower than what stands
// in the database changes nothing there, so that an older deploy does not turn it back.
func Revision(n int) SubOption { return func(s *Subscription) { s.says.Revision = n } }

// KeyFrom is a template of the idempotency key of the runs that are started: order-{payload.order}. There are
// {payload.a.b}, {topic}, {id}, which is the publication's, and {header.name}; {{ and }} are braces. A payload without
// the field is a dead letter, and so is one whose key would begin with "retry:", which is reserved. Without KeyFrom
// each message starts one run.
func KeyFrom(template string) SubOption {
	return ofWorkflow("KeyFrom", func(t *world.StartTarget) { t.Key = template })
}

// AttributeFrom gives the runs that are started an attribute by a template, as [KeyFrom] has it.
func AttributeFrom(name, template string) SubOption {
	return ofWorkflow("AttributeFrom", func(t *world.StartTarget) {
		if t.Attributes == nil {
			t.Attributes = map[string]string{}
		}
		t.Attributes[name] = template
	})
}

// Secret signs what is posted: whsec_ and 24 to 64 bytes in base64. A new secret applies at once, and the previous one
// signs too until the next change. Without Secret one is created, which only stepwell topics rotate-secret shows.
func Secret(secret string) SubOption {
	return ofEndpoint("Secret", func(t *world.PostTarget) { t.Secrets = []world.Secret{world.Secret(secret)} })
}

// AllowPrivate lets the endpoint be in a private network, or on the same machine, where the server allows that too.
func AllowPrivate() SubOption {
	return ofEndpoint("AllowPrivate", func(t *world.PostTarget) { t.Private = true })
}

// GiveUpAfter is for how long one is posted again and again before it is a dead letter: 3 days where nobody says it, at
// most 30.
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

// ToQueue puts what is published into a queue, once.
func ToQueue[T any](name, pattern string, q *queue.Queue[T], opts ...SubOption) *Subscription {
	s := &Subscription{says: world.Subscription{Name: name, Pattern: pattern}}
	if q == nil {
		s.fault = kit.Missing("the queue")
	} else {
		s.says.Queue, s.declare = q.Name(), q.Declare
	}
	return s.with(opts)
}

// ToWorkflow starts a run with each payload, once. The workflow's definition holds for it, as for one that is started
// by name: a payload that does not fit its input is a dead letter. While no worker has told of the workflow it waits.
func ToWorkflow[In, Out any](name, pattern string, w *stepwell.Workflow[In, Out], opts ...SubOption) *Subscription {
	s := &Subscription{says: world.Subscription{Name: name, Pattern: pattern, Workflow: &world.StartTarget{}}}
	if w == nil {
		s.fault = kit.Missing("the workflow")
	} else {
		s.says.Workflow.Name = w.Name()
	}
	return s.with(opts)
}

// ToEndpoint posts each payload to a URL, at least once, signed as Standard Webhooks says. Servers do that: where there
// is no server on the database, nothing is posted.
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

// Name is the subscription's name.
func (s *Subscription) Name() string { return s.says.Name }

// stand makes the subscription when an App begins to run.
func (s *Subscription) stand(ctx context.Context, room kit.App) {
	kit.Stand(ctx, room.Logger.With("subscription", s.says.Name), "the subscription", "Raise topic.Revision if this program is the newer one", func() error {
		_, err := s.make(ctx, room)
		return err
	})
}

func (s *Subscription) make(ctx context.Context, room kit.App) (secret world.Secret, err error) {
	if room.Courier == nil {
		return "", errNoTopics
	}
	if s.declare != nil {
		if err := s.declare(ctx, room.Messages); err != nil {
			return "", err
		}
	}
	says := s.says
	says.Made.At = time.Now().UTC()
	return courier.Subscribe(ctx, room.Courier.Spread, says)
}

// Subscribe makes a subscription now, or changes the one with its name to what this says: for programs that do not have
// it in their definitions. What was published before goes to those that stood before. Where an endpoint gets a secret
// that was made for it, it is returned here and never again.
//
// Errors: [stepwell.ErrInvalid]; [stepwell.ErrConflict] where one of a higher revision stands, or the target
// cannot change.
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

// Unsubscribe ends a subscription, when it has all that was published before. What nobody has worked on in a queue of
// its own is deleted; a queue of the program's stays as it is. The error is [stepwell.ErrNotFound] where there is none.
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

// Subscriptions are all that stand, by name, without the secrets of endpoints.
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
