package courier

// This file is what people and programs do to subscriptions.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// NewSecret makes a secret that signs what is posted.
func NewSecret() world.Secret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return world.Secret("whsec_" + base64.StdEncoding.EncodeToString(key))
}

// Subscribe makes a subscription, or says anew what holds for it. One with an endpoint that had none before gets a
// secret, unless it says one: that is told, here and never again.
func Subscribe(ctx context.Context, s *spread.Spreader, sub world.Subscription) (secret world.Secret, err error) {
	if err := world.CheckSubscription(&sub); err != nil {
		return "", err
	}
	if e := sub.Endpoint; e != nil {
		for _, own := range e.Secrets { // and not as stores keep them
			if _, err := own.Key(); err != nil {
				return "", err
			}
		}
	}
	if e := sub.Endpoint; e != nil && len(e.Secrets) == 0 {
		before, err := s.Topics.Subscriptions(ctx, sub.Name)
		if err != nil {
			return "", err
		}
		if len(before) == 0 || before[0].Endpoint == nil {
			own := *e
			secret = NewSecret()
			own.Secrets = []world.Secret{secret}
			sub.Endpoint = &own
		}
	}
	if err := s.Subscribe(ctx, sub); err != nil || sub.Queue != "" {
		return "", err
	}
	// How often a message is received says nothing here: what is posted has its time, and a start waits for its worker.
	return secret, s.Queues.DeclareQueue(ctx, world.MessageQueue{Name: sub.OwnQueue(), MaxReceives: world.MaxReceives})
}

// Find is a subscription. The error is [world.ErrNotFound] where there is none.
func Find(ctx context.Context, s *spread.Spreader, name string) (*world.Subscription, error) {
	if world.CheckWorkflowName(name) != nil {
		return nil, fmt.Errorf("%w: subscription name %.140q: want A-Z a-z 0-9 _ . -", world.ErrInvalid, name)
	}
	all, err := s.Topics.Subscriptions(ctx, name)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("subscription %q: %w", name, world.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// keyed is what has keys with which secrets are encrypted.
type keyed interface{ Keyed() bool }

// Rotate gives a subscription's endpoint a new secret. The one before signs too, until the next one comes; but for one
// whose key whoever has keys has not: nothing would be posted for as long as it is there.
func Rotate(ctx context.Context, s *spread.Spreader, name string) (world.Secret, error) {
	sub, err := Find(ctx, s, name)
	switch {
	case err != nil:
		return "", err
	case sub.Endpoint == nil:
		return "", fmt.Errorf("%w: subscription %s has no endpoint, and no secret", world.ErrInvalid, name)
	}
	e := *sub.Endpoint
	secret := NewSecret()
	before := e.Secrets
	e.Secrets = []world.Secret{secret}
	if k, is := s.Topics.(keyed); is && k.Keyed() && len(before) > 0 {
		if gone, _ := before[0].Encrypted(); gone != "" {
			e.Secrets = append(e.Secrets, secret) // in its place, which would be taken from what stands
		}
	}
	sub.Endpoint = &e
	return secret, s.Subscribe(ctx, *sub)
}

// Own is the queue of a subscription, where it has one of its own. The error is [world.ErrInvalid] where it has not:
// what is done to that concerns others too.
func Own(ctx context.Context, s *spread.Spreader, name string) (string, error) {
	sub, err := Find(ctx, s, name)
	if err != nil {
		return "", err
	}
	if sub.Queue != "" {
		return "", fmt.Errorf("%w: subscription %s fills the queue %s, which is the program's: do this to the queue", world.ErrInvalid, name, sub.Queue)
	}
	return sub.OwnQueue(), nil
}

// Standing is a subscription, and how its queue stands.
type Standing struct {
	world.Subscription
	Stats *world.QueueStats // nil: the queue is gone
}

// Standings tells how subscriptions stand, by name; none named: all.
func Standings(ctx context.Context, s *spread.Spreader, names ...string) ([]Standing, error) {
	subs, err := s.Topics.Subscriptions(ctx, names...)
	if err != nil || len(subs) == 0 {
		return nil, err
	}
	var wanted []string
	for i := range subs {
		wanted = append(wanted, subs[i].OwnQueue())
	}
	queues, err := s.Queues.Queues(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	by := make(map[string]*world.QueueStats, len(queues))
	for i := range queues {
		by[queues[i].Name] = &queues[i]
	}
	out := make([]Standing, len(subs))
	for i := range subs {
		out[i] = Standing{subs[i], by[subs[i].OwnQueue()]}
	}
	return out, nil
}

// Hide leaves out what only those may know who post.
func Hide(s world.Subscription) world.Subscription {
	if s.Endpoint != nil && len(s.Endpoint.Secrets) > 0 {
		e := *s.Endpoint
		e.Secrets = nil
		s.Endpoint = &e
	}
	return s
}
