package crypt

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// topics are the topics of the world below, whose payloads are encrypted, and the secrets of endpoints. Topics,
// headers, filters and IDs are not.
//
// A publication is encrypted for its topic. Who spreads it decrypts it, and encrypts it anew for each queue and run.
type topics struct {
	world.Publisher
	w *World
}

// Topics are the topics of the world below, encrypted. Each call returns an equal value.
func (w *World) Topics() world.Publisher { return topics{w.World.Topics(), w} }

const publicationPlace = "publication"

func topicRun(topic string) string { return "topic " + topic }

// Publish encrypts what is published; see [world.Publisher].
func (k topics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	all, err := encryptPublications(ctx, k.w, all)
	if err != nil {
		return nil, err
	}
	return k.Publisher.Publish(ctx, all)
}

// encryptPublications encrypts what was checked for its topics. The slice that it is given stays as it is.
func encryptPublications(ctx context.Context, w *World, all []world.Publication) ([]world.Publication, error) {
	key := w.ring.Primary()
	if err := w.vet(ctx, key, true); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i := range all {
		p := &all[i]
		payload, err := w.ring.encrypt(key, topicRun(p.Topic), "", publicationPlace, p.Payload)
		if err != nil {
			return nil, fmt.Errorf("topic %s: %w", p.Topic, err)
		}
		p.Payload, p.Encrypted = payload, key
	}
	return all, nil
}

// Due decrypts what is to be spread; see [world.Publisher]. Where a key is another than the one that its ID stands for
// nothing is told: else what is well would be set aside.
func (k topics) Due(ctx context.Context, q world.DueQuery) (world.Due, error) {
	due, err := k.Publisher.Due(ctx, q)
	due.Subscriptions = k.w.ring.openSecrets(due.Subscriptions)
	for i := range due.Publications {
		p := &due.Publications[i]
		whole := p.Damage == ""
		if k.w.ring.openPublication(p); whole && p.Damage != "" {
			if err := k.w.vet(ctx, p.Encrypted, false); err != nil {
				return world.Due{}, err
			}
		}
	}
	return due, err
}

// Spread encrypts what goes to queues and runs; see [world.Publisher].
func (k topics) Spread(ctx context.Context, s world.Spread) (done bool, err error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	if len(s.Messages) > 0 {
		if s.Messages, err = encryptMessages(ctx, k.w, s.Messages); err != nil {
			return false, err
		}
	}
	if s.Mail, err = k.w.encryptSent(ctx, nil, s.Mail); err != nil {
		return false, err
	}
	if s.Subscribe, err = k.w.hideSecrets(ctx, s.Subscribe); err != nil {
		return false, err
	}
	return k.Publisher.Spread(ctx, s)
}

// Subscriptions decrypts the secrets of endpoints; see [world.Publisher].
func (k topics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	all, err := k.Publisher.Subscriptions(ctx, names...)
	return k.w.ring.openSecrets(all), err
}

// Keyed reports that secrets are encrypted here, and decrypted where their key is here.
func (k topics) Keyed() bool { return true }

const secretPlace = "secret"

func secretRun(subscription string) string { return "subscription " + subscription }

// hideSecrets encrypts the secrets of an endpoint.
func (w *World) hideSecrets(ctx context.Context, s *world.Subscription) (*world.Subscription, error) {
	if s == nil || s.Endpoint == nil {
		return s, nil
	}
	own, to := *s, *s.Endpoint
	to.Secrets = slices.Clone(to.Secrets)
	own.Endpoint = &to
	for i, secret := range to.Secrets {
		if of, _ := secret.Encrypted(); of != "" { // its key is not here
			continue
		}
		key := w.ring.Primary()
		if err := w.vet(ctx, key, true); err != nil {
			return nil, err
		}
		b, err := w.ring.encrypt(key, secretRun(s.Name), "", secretPlace, []byte(secret))
		if err != nil {
			return nil, fmt.Errorf("subscription %s: %w", s.Name, err)
		}
		to.Secrets[i] = world.EncryptedSecret(key, string(b))
	}
	return &own, nil
}

// openSecrets decrypts the secrets of endpoints. Those whose key is not here, or with which something is wrong, stay as
// they are, and sign nothing. What it is given stays as it is.
func (r *Keyring) openSecrets(all []world.Subscription) []world.Subscription {
	copied := false
	for i := range all {
		if all[i].Endpoint == nil {
			continue
		}
		for j, secret := range all[i].Endpoint.Secrets {
			key, text := secret.Encrypted()
			if key == "" || !r.Has(key) {
				continue
			}
			plain, err := r.openPlain([]byte(text), key, secretRun(all[i].Name), secretPlace)
			if err != nil {
				continue
			}
			if !copied {
				all, copied = slices.Clone(all), true
			}
			to := *all[i].Endpoint
			to.Secrets = slices.Clone(to.Secrets)
			to.Secrets[j] = world.Secret(plain)
			all[i].Endpoint = &to
		}
	}
	return all
}

// Shapes gives each shape what makes its hashes, where that key is here; see [world.Publisher].
func (k topics) Shapes(ctx context.Context) ([]world.Shape, error) {
	all, err := k.Publisher.Shapes(ctx)
	for i := range all {
		if s := &all[i]; s.Key != "" {
			s.Sum = k.w.ring.sums(s.Key)
		}
	}
	return all, err
}

// Listeners decrypts what waits that look back match; see [world.Publisher]. What is damaged is not known.
func (k topics) Listeners(ctx context.Context, q world.ListenerQuery) ([]world.Listener, error) {
	all, err := k.Publisher.Listeners(ctx, q)
	for i := range all {
		l := &all[i]
		if !LooksEncrypted(l.Match) {
			continue
		}
		if s, bad := world.ReadShape(l.Shape); bad == nil && s.Key != "" && k.w.ring.Has(s.Key) {
			if l.Match, bad = k.w.ring.openPlain(l.Match, s.Key, l.Run, matchPlace(l.Wait)); bad != nil {
				l.Match = nil
			}
		}
	}
	return all, err
}

// Publications decrypts what was published; see [world.Publisher].
func (k topics) Publications(ctx context.Context, q world.PublicationQuery) (world.PublicationPage, error) {
	page, err := k.Publisher.Publications(ctx, q)
	for i := range page.Publications {
		k.w.ring.openPublication(&page.Publications[i])
	}
	return page, err
}

func (r *Keyring) openPublication(p *world.Publication) {
	if p.Encrypted == "" || p.Damage != "" || !r.Has(p.Encrypted) { // who has not the key is told its ID
		return
	}
	plain, err := r.openPlain(p.Payload, p.Encrypted, topicRun(p.Topic), publicationPlace)
	if err != nil {
		p.Damage = fmt.Sprintf("publication %s: %v", p.ID, err)
		return
	}
	p.Payload, p.Encrypted = plain, ""
}
