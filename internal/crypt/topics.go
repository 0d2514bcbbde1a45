package crypt

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// topics are the topics of the world below, whose payloads are encrypted. Topics, headers, filters and IDs are not.
//
// A publication is encrypted for its topic. Who spreads it decrypts it, and encrypts it anew for each queue and run.
type topics struct {
	world.Publisher
	w *World
}

// topicKeeper has topics under which what is published is encrypted.
type topicKeeper struct {
	of world.TopicKeeper
	w  *World
}

// Topics are the topics; see [World.Abilities]. They are the same ones each time, to who compares.
func (k topicKeeper) Topics() world.Publisher { return topics{k.of.Topics(), k.w} }

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
	return k.Publisher.Spread(ctx, s)
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
