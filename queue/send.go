package queue

// This file puts messages into queues.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// SendOption says something of a message: [Group], [Delay], [Priority], [DedupeID], [Headers], [stepwell.In].
type SendOption interface {
	SendsIn() world.Tx // the transaction that the send is part of; nil: none
}

type sendOption func(*world.Message)

// SendsIn makes it a [SendOption].
func (sendOption) SendsIn() world.Tx { return nil }

// Group puts a message behind those of the same group that were sent before: they are received one at a time,
// in their order. One that fails holds up its group
// until it succeeds or is a dead letter. A group takes no [Delay], and a priority says nothing in it.
func Group(name string) SendOption { return sendOption(func(m *world.Message) { m.Group = name }) }

// Delay has a message received so much later at the earliest; at most 365 days.
func Delay(d time.Duration) SendOption { return sendOption(func(m *world.Message) { m.Delay = d }) }

// Priority is from 1 to 4, 2 where nobody says it; 4 is received first.
func Priority(n int) SendOption { return sendOption(func(m *world.Message) { m.Priority = n }) }

// DedupeID makes a send repeatable: within a window, 0 for 5 minutes and 7 days at most, a message of the queue
// with the same ID is the one that was sent before.
func DedupeID(id string, window time.Duration) SendOption {
	return sendOption(func(m *world.Message) { m.Dedupe, m.Window = id, window })
}

// Headers go with the payload, 8 KiB at most: what is about the message and not in it.
func Headers(h map[string]string) SendOption {
	return sendOption(func(m *world.Message) { m.Headers = h })
}

// Send puts a message into the queue. It returns the message's ID when it is durable, and waits for nobody.
//
// With [stepwell.In] it is part of the caller's transaction: it is there when that commits, and never was when it is
// rolled back. One with a [DedupeID] waits for another transaction that has sent with the same, for 10 s at most; and
// others wait for this one likewise. Of a group, the order of transactions that are open at once is not known.
//
// Errors: [stepwell.ErrInvalid], [stepwell.ErrTooLarge] over 1 MiB, and encoding errors.
func (q *Queue[T]) Send(ctx context.Context, app *stepwell.App, payload T, opts ...SendOption) (id string, err error) {
	ids, err := q.sendAll(ctx, app, []T{payload}, opts)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// SendAll puts several messages into the queue, at most 1,000, all or none, each with the same options; their
// IDs are in the same order. [DedupeID] is refused: it names one message.
func (q *Queue[T]) SendAll(ctx context.Context, app *stepwell.App, payloads []T, opts ...SendOption) (ids []string, err error) {
	if like, _, err := q.like(opts); err == nil && like.Dedupe != "" {
		return nil, fmt.Errorf("send to queue %s: %w: SendAll takes no DedupeID, which names one message: use Send", q.def.Name, world.ErrInvalid)
	}
	return q.sendAll(ctx, app, payloads, opts)
}

func (q *Queue[T]) sendAll(ctx context.Context, app *stepwell.App, payloads []T, opts []SendOption) (ids []string, err error) {
	room, err := q.open(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	sent, err := q.send(ctx, room, payloads, opts)
	if q.dropped(err) {
		if err = q.declare(ctx, room.Messages); err == nil {
			sent, err = q.send(ctx, room, payloads, opts)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("send to queue %s: %w", q.def.Name, err)
	}
	for _, s := range sent {
		ids = append(ids, s.ID)
	}
	return ids, nil
}

func (q *Queue[T]) send(ctx context.Context, room kit.App, payloads []T, opts []SendOption) ([]world.Sent, error) {
	like, in, err := q.like(opts)
	if err != nil {
		return nil, err
	}
	all := make([]world.Message, len(payloads))
	for i := range payloads {
		b, err := codec.Encode(&payloads[i], room.Limit)
		if err != nil {
			return nil, err
		}
		all[i] = like
		if all[i].Payload = b; q.keys != nil {
			if all[i].Keys, err = q.keys(b); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case in == nil:
		return room.Messages.SendMessages(ctx, all)
	case room.Transactor == nil:
		return nil, errNoTransactions
	}
	return room.Transactor.SendMessagesIn(ctx, in, all)
}

// like is a message with options, and the transaction that it is part of, if any.
func (q *Queue[T]) like(opts []SendOption) (m world.Message, in world.Tx, err error) {
	m = world.Message{Queue: q.def.Name, Priority: world.DefaultPriority}
	err = kit.Given(opts, func(o SendOption) {
		if set, ok := o.(sendOption); ok {
			set(&m)
		} else {
			in = o.SendsIn()
		}
	})
	if err == nil && (m.Priority < 1 || m.Priority > 4) {
		err = fmt.Errorf("%w: priority %d: want 1 to 4", world.ErrInvalid, m.Priority)
	}
	return m, in, err
}
