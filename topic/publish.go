package topic

// This file publishes.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// Topic is a name under which values of one type are published. It is safe for concurrent use.
type Topic[T any] struct{ name string }

// Of defines a topic. A name has 1 to 16 words of A-Z a-z 0-9 _ - separated by dots, and at most
// 256 bytes. The first use of a bad name fails.
func Of[T any](name string) *Topic[T] { return &Topic[T]{name} }

// Name returns the topic's name.
func (t *Topic[T]) Name() string { return t.name }

// Option is an option of a publication: [Headers], [Delay], [At], [Source], [DeliveryID],
// [stepwell.In].
type Option interface {
	PublishesIn() world.Tx // the transaction that it is part of; nil: none
}

type option func(*world.Publication)

// PublishesIn makes it an [Option].
func (option) PublishesIn() world.Tx { return nil }

// Headers are stored beside the payload, at most 8 KiB. Use them for facts about the payload that
// are not in it.
func Headers(h map[string]string) Option { return option(func(p *world.Publication) { p.Headers = h }) }

// Delay publishes after d, at most 365 days, to the subscriptions of that time.
func Delay(d time.Duration) Option { return option(func(p *world.Publication) { p.Delay = d }) }

// At publishes at a time of this program's clock; a past time means now. See [Delay].
func At(when time.Time) Option {
	return option(func(p *world.Publication) { p.Delay = max(time.Until(when), 0) })
}

// Source names the publisher. An [Ordered] subscription gets what one source publishes under one
// topic in order.
func Source(name string) Option { return option(func(p *world.Publication) { p.Source = name }) }

// DeliveryID makes a publication repeatable. The same ID under the same topic within 24 hours is
// the same publication.
func DeliveryID(id string) Option { return option(func(p *world.Publication) { p.Dedupe = id }) }

// Publish publishes a value, and returns the publication's ID once it is durable.
//
// With [stepwell.In] it is part of the caller's transaction: the value is published if that
// commits. With a [DeliveryID] too, it may wait for another transaction that publishes the same ID.
//
// Errors: [stepwell.ErrInvalid], [stepwell.ErrTooLarge] for more than 1 MiB, and encoding errors.
func (t *Topic[T]) Publish(ctx context.Context, app *stepwell.App, payload T, opts ...Option) (id string, err error) {
	if t == nil {
		return "", fmt.Errorf("publish: %w", kit.Missing("the topic"))
	}
	room, s, err := open(app)
	if err != nil {
		return "", fmt.Errorf("publish to %s: %w", t.name, err)
	}
	p, in, err := t.like(opts)
	if err == nil {
		p.Payload, err = codec.Encode(&payload, room.Limit)
	}
	if err != nil {
		return "", fmt.Errorf("publish to %s: %w", t.name, err)
	}
	write := s.Topics.Publish
	switch {
	case in != nil && room.Transactor == nil:
		return "", fmt.Errorf("publish to %s: %w: this store does not support transactions", t.name, world.ErrInvalid)
	case in != nil:
		write = func(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
			return room.Transactor.PublishIn(ctx, in, all)
		}
	}
	sent, err := write(ctx, []world.Publication{p})
	if err != nil {
		return "", fmt.Errorf("publish to %s: %w", t.name, err)
	}
	return sent[0].ID, nil
}

// like is a publication with options, and the transaction that it is part of, if any.
func (t *Topic[T]) like(opts []Option) (p world.Publication, in world.Tx, err error) {
	p.Topic = t.name
	err = kit.Given(opts, func(o Option) {
		if set, ok := o.(option); ok {
			set(&p)
		} else {
			in = o.PublishesIn()
		}
	})
	return p, in, err
}

// open finds the topics of an App's database.
func open(app *stepwell.App) (kit.App, *spread.Spreader, error) {
	if app == nil {
		return kit.App{}, nil, kit.Missing("the App")
	}
	room := kit.AppOf(app)
	return room, room.Courier.Spread, nil
}
