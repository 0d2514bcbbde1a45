package queue

// This file takes messages when a program wants to, and settles them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Message is a received message. The methods settle it; in a handler, the handler's result does.
type Message[T any] struct {
	ID       string // "mesg_" and a ULID
	Payload  T
	Headers  map[string]string
	Group    string
	Priority int // from 1 to 4
	SentAt   time.Time
	Receives int    // how often it was received, with this time
	Error    string // reason of its last failure or [Message.Nack]
	Receipt  string // proof of this receive, with which another program can settle it

	keep world.Messenger
	in   world.Transactor // nil: there is none
}

// ReceiveOption is an option of a receive: [Most], [Wait], [For], [Match].
type ReceiveOption interface{ receiveOption(*receiving) }

type receiveOption func(*receiving)

func (o receiveOption) receiveOption(r *receiving) { o(r) }

type receiving struct {
	world.ReceiveQuery
	wait time.Duration
	err  error
}

// Most sets how many messages are received at most: 1 to 100, default 1.
func Most(n int) ReceiveOption { return receiveOption(func(r *receiving) { r.Limit = n }) }

// Wait makes a receive wait for up to d if no message is ready.
func Wait(d time.Duration) ReceiveOption { return receiveOption(func(r *receiving) { r.wait = d }) }

// For sets how long the messages stay hidden from others, instead of the queue's [Visibility].
func For(d time.Duration) ReceiveOption {
	return receiveOption(func(r *receiving) { r.Visibility = d })
}

// Match receives only messages that contain this JSON, as defined by [stepwell.Match]. It examines
// the first 1,000 ready messages.
func Match(m stepwell.Match) ReceiveOption {
	return receiveOption(func(r *receiving) {
		b, err := json.Marshal(m)
		r.Match, r.err = b, err
	})
}

// Receive receives ready messages. An empty queue is not an error. A message that is not settled
// before its [Visibility] ends is received again, by this program or another.
//
// A message that is damaged, or that T cannot hold, becomes a dead letter and is left out. If this
// program lacks the key of an encrypted message, the message is given back, and the error is
// [stepwell.ErrNoKey].
func (q *Queue[T]) Receive(ctx context.Context, app *stepwell.App, opts ...ReceiveOption) ([]*Message[T], error) {
	room, err := q.open(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	r := receiving{ReceiveQuery: world.ReceiveQuery{Queue: q.def.Name, Limit: 1}}
	if err := cmp.Or(kit.Given(opts, func(o ReceiveOption) { o.receiveOption(&r) }), r.err); err != nil {
		return nil, fmt.Errorf("receive from queue %s: %w", q.def.Name, err)
	}
	got, err := Await(ctx, room.Messages, room.Notifier, r.ReceiveQuery, r.wait)
	if err != nil {
		return nil, fmt.Errorf("receive from queue %s: %w", q.def.Name, err)
	}
	var out []*Message[T]
	var ends, buried []world.Settlement
	var missing error
	for i := range got.Messages {
		m := &got.Messages[i]
		typed, err := read[T](room, m)
		switch {
		case err == nil:
			out = append(out, typed)
		case errors.Is(err, world.ErrNoKey):
			missing = err
			ends = append(ends, courier.Unread(m, noKey))
		default:
			buried = append(buried, m.End(world.Bury, 0, err.Error()))
		}
	}
	if missing == nil {
		ends = append(ends, buried...)
	} else { // with all others
		for i := range got.Messages {
			if m := &got.Messages[i]; m.Encrypted == "" {
				ends = append(ends, courier.Unread(m, 0))
			}
		}
		out = nil
	}
	if len(ends) > 0 {
		_, err = room.Messages.SettleMessages(context.WithoutCancel(ctx), ends)
	}
	if err = cmp.Or(missing, err); err != nil {
		return nil, fmt.Errorf("receive from queue %s: %w", q.def.Name, err)
	}
	return out, nil
}

// noKey is how long a message rests that the program which received it has no key for.
const noKey = 10 * time.Second

func read[T any](room kit.App, m *world.Message) (*Message[T], error) {
	out := &Message[T]{
		ID: m.ID, Headers: m.Headers, Group: m.Group, Priority: m.Priority, SentAt: m.SentAt, Receives: m.Receives, Error: m.Error, Receipt: m.Receipt,
		keep: room.Messages, in: room.Transactor,
	}
	switch {
	case m.Damage != "":
		return nil, fmt.Errorf("%w: %s", world.ErrCorrupt, m.Damage)
	case m.Encrypted != "":
		return nil, fmt.Errorf("message %s: %w: it is encrypted with the key %q", m.ID, world.ErrNoKey, m.Encrypted)
	}
	if err := codec.Fits(m.Payload, &out.Payload); err != nil {
		return nil, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return out, nil
}

// AckOption is an option of an acknowledgement: [stepwell.In].
type AckOption interface {
	SettlesIn() world.Tx
}

// Ack acknowledges the message, which deletes it. The error is [ErrReceipt] if another receiver has
// it.
//
// With [stepwell.In] the acknowledgement is part of the caller's transaction. Acknowledge last and
// commit at once: until the commit the message's group waits. Visibility is not renewed; a receiver
// that gets the message before the acknowledgement keeps it. After an error, also ErrReceipt, the
// transaction is unusable: roll it back.
func (m *Message[T]) Ack(ctx context.Context, opts ...AckOption) error {
	var tx world.Tx
	if err := kit.Given(opts, func(o AckOption) { tx = o.SettlesIn() }); err != nil {
		return fmt.Errorf("ack message %s: %w", m.ID, err)
	}
	return m.settle(ctx, tx, world.Settlement{Kind: world.Ack})
}

// Nack gives the message back. It is ready again after the given time; 0 means at once. reason is
// shown to operators, and may be "".
func (m *Message[T]) Nack(ctx context.Context, after time.Duration, reason string) error {
	return m.settle(ctx, nil, world.Settlement{Kind: world.Nack, After: after, Error: reason})
}

// Extend keeps the message hidden from other receivers for d from now: 1 s to 12 h.
func (m *Message[T]) Extend(ctx context.Context, d time.Duration) error {
	return m.settle(ctx, nil, world.Settlement{Kind: world.Extend, After: d})
}

// Bury makes the message a dead letter. reason is shown to operators.
func (m *Message[T]) Bury(ctx context.Context, reason string) error {
	return m.settle(ctx, nil, world.Settlement{Kind: world.Bury, Error: reason})
}

func (m *Message[T]) settle(ctx context.Context, tx world.Tx, s world.Settlement) (err error) {
	s.Receipt = m.Receipt
	all := []world.Settlement{s}
	var done []bool
	switch {
	case tx == nil:
		done, err = m.keep.SettleMessages(ctx, all)
	case m.in == nil:
		err = errNoTransactions
	default:
		done, err = m.in.SettleMessagesIn(ctx, tx, all)
	}
	if err == nil && !done[0] {
		err = ErrReceipt
	}
	if err != nil {
		return fmt.Errorf("%s message %s: %w", s.Kind, m.ID, err)
	}
	return nil
}
