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

// Message is one message that was received. What is done with it is said by its methods, or by what its handler
// returns.
type Message[T any] struct {
	ID       string // "mesg_" and a ULID
	Payload  T
	Headers  map[string]string
	Group    string
	Priority int // from 1 to 4
	SentAt   time.Time
	Receives int    // how often it was received, this time too
	Error    string // what was said when it was given back last
	Receipt  string // the right to settle it, for another program

	keep world.Messenger
	in   world.Transactor // nil: there is none
}

// ReceiveOption says something of a receive: [Most], [Wait], [For], [Match].
type ReceiveOption func(*receiving)

type receiving struct {
	world.ReceiveQuery
	wait time.Duration
	err  error
}

// Most is how many messages are received at once, from 1 to 100; 1 where nobody says it.
func Most(n int) ReceiveOption { return func(r *receiving) { r.Limit = n } }

// Wait waits so long for a message where there is none.
func Wait(d time.Duration) ReceiveOption { return func(r *receiving) { r.wait = d } }

// For is for how long the messages are nobody else's, where that is not what the queue says: see [Visibility].
func For(d time.Duration) ReceiveOption { return func(r *receiving) { r.Visibility = d } }

// Match receives only what contains this JSON, by the rule of [stepwell.Match], of the first 1,000 messages
// that are ready.
func Match(m stepwell.Match) ReceiveOption {
	return func(r *receiving) {
		b, err := json.Marshal(m)
		r.Match, r.err = b, err
	}
}

// Receive receives messages that are ready; an empty queue is not an error. A message that is not settled in time is
// received again, by this program or another.
//
// A message that T cannot hold, or that is damaged, becomes a dead letter and is left out. A message that is encrypted
// with a key which this program does not have is given back, and the error is [stepwell.ErrNoKey].
func (q *Queue[T]) Receive(ctx context.Context, app *stepwell.App, opts ...ReceiveOption) ([]*Message[T], error) {
	room, err := q.open(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	r := receiving{ReceiveQuery: world.ReceiveQuery{Queue: q.def.Name, Limit: 1}}
	if err := cmp.Or(kit.Given(opts, func(o ReceiveOption) { o(&r) }), r.err); err != nil {
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

// AckOption says something of an acknowledgement: [stepwell.In].
type AckOption interface {
	SettlesIn() world.Tx
}

// Ack ends the receive: the message is done, and gone. The error is [ErrReceipt] where somebody else has
// received it since.
//
// With [stepwell.In] it is part of the caller's transaction: what the program wrote there and the acknowledgement are
// one. After an error, [ErrReceipt] too, that transaction is of no further use: roll it back. Acknowledge last, and
// commit at once: until then the message's group stands still. Nobody renews the message's visibility; whoever
// receives it anew before the acknowledgement has it.
func (m *Message[T]) Ack(ctx context.Context, opts ...AckOption) error {
	var tx world.Tx
	if err := kit.Given(opts, func(o AckOption) { tx = o.SettlesIn() }); err != nil {
		return fmt.Errorf("ack message %s: %w", m.ID, err)
	}
	return m.settle(ctx, tx, world.Settlement{Kind: world.Ack})
}

// Nack gives the message back: it is ready again after a while, 0 for at once. reason is shown to operators,
// and may be "".
func (m *Message[T]) Nack(ctx context.Context, after time.Duration, reason string) error {
	return m.settle(ctx, nil, world.Settlement{Kind: world.Nack, After: after, Error: reason})
}

// Extend keeps the message hidden from others for d from now, from 1 s to 12 h.
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
