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

// SendOption is an option of a send: [Group], [Delay], [Priority], [DedupeID], [Headers],
// [stepwell.In].
type SendOption interface {
	SendsIn() world.Tx // the transaction that the send is part of; nil: none
}

type sendOption func(*world.Message)

// SendsIn makes it a [SendOption].
func (sendOption) SendsIn() world.Tx { return nil }

// Group puts a message in a group. Messages of a group are received one at a time, in the order of
// their sends. A failed message holds up its group until it succeeds or becomes a dead letter. A
// message in a group cannot have a [Delay], and its priority is ignored.
func Group(name string) SendOption { return sendOption(func(m *world.Message) { m.Group = name }) }

// Delay hides a message for d after the send, at most 365 days.
func Delay(d time.Duration) SendOption { return sendOption(func(m *world.Message) { m.Delay = d }) }

// Priority is 1 to 4, default 2; 4 is received first.
func Priority(n int) SendOption { return sendOption(func(m *world.Message) { m.Priority = n }) }

// DedupeID makes a send repeatable. Within the window, a send with the same ID to the same queue
// returns the earlier message's ID and sends nothing. A window of 0 means 5 minutes; at most 7
// days.
func DedupeID(id string, window time.Duration) SendOption {
	return sendOption(func(m *world.Message) { m.Dedupe, m.Window = id, window })
}

// Headers are stored beside the payload, at most 8 KiB. Use them for facts about the message that
// are not in its payload.
func Headers(h map[string]string) SendOption {
	return sendOption(func(m *world.Message) { m.Headers = h })
}

// Send sends a message, and returns its ID once it is durable.
//
// With [stepwell.In] the send is part of the caller's transaction: the message exists if that
// commits. With a [DedupeID] too, it waits for up to 10 s for another transaction that sends the
// same ID. Messages of a [Group] from transactions that overlap have no defined order.
//
// Errors: [stepwell.ErrInvalid], [stepwell.ErrTooLarge] for more than 1 MiB, and encoding errors.
func (q *Queue[T]) Send(ctx context.Context, app *stepwell.App, payload T, opts ...SendOption) (id string, err error) {
	ids, err := q.sendAll(ctx, app, []T{payload}, opts)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// SendAll sends at most 1,000 messages, all or none, each with the same options. It returns their
// IDs in the order of payloads. It refuses a [DedupeID], which names one message.
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
