package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MessageKeeper is a [World] that keeps queues of messages.
type MessageKeeper interface{ Messages() Messenger }

// Messenger keeps queues that programs use with no run: they send messages, and receive each at least once.
// What a message is just now is
// a matter of time: see [MessageState].
//
//   - A message that was sent is received until it is acknowledged, becomes a dead letter, or is purged.
//   - While the visibility of a receive lasts, nobody else receives the message. Who ends it later than that
//     ends it still, as long as nobody has received it anew.
//   - Of a group one message is out, and it is the first that was sent of those that are there. A dead letter
//     holds up nobody.
//   - Higher priorities are received first, and of one priority what is ready longest.
//
// All methods are safe for concurrent use, and durable when they return.
type Messenger interface {
	// DeclareQueue makes a queue, or says anew what holds for it. A pause stays.
	DeclareQueue(ctx context.Context, q MessageQueue) error

	// PauseQueue has nothing received from a queue; nil: again. The error is [ErrNotFound] where there is none.
	PauseQueue(ctx context.Context, queue string, pause *QueuePause) error

	// DropQueue deletes a queue. Where it has messages it is [ErrConflict]: they are purged before; so it is where a
	// subscription fills it.
	DropQueue(ctx context.Context, queue string) error

	// Queues tells of queues by name, in order; none named: of all.
	Queues(ctx context.Context, names ...string) ([]QueueStats, error)

	// SendMessages puts messages into queues, all or none. The error is [ErrNotFound] for a queue that was not
	// declared.
	SendMessages(ctx context.Context, all []Message) ([]Sent, error)

	// ReceiveMessages receives what is ready. One that would be received too often is a dead letter instead.
	// The error is [ErrNotFound] for a queue that was not declared.
	ReceiveMessages(ctx context.Context, q ReceiveQuery) (Received, error)

	// SettleMessages ends receives, each for itself, and tells of each whether its receipt held: where it did
	// not, nothing happened.
	SettleMessages(ctx context.Context, all []Settlement) ([]bool, error)

	// PeekMessages looks at messages in the order in which they were sent, and changes nothing.
	PeekMessages(ctx context.Context, q PeekQuery) (MessagePage, error)

	// PurgeMessages deletes messages, [MaxBatch] at most; dead says that only dead letters are meant. More:
	// there are others. Those that are out are deleted too.
	PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error)

	// RedriveMessages makes dead letters messages again that were never received, [MaxBatch] at most; of these
	// alone, by their IDs, or of all.
	RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error)
}

// ErrReceipt: the receipt is of a receive that is over. Somebody else has received the message since, or it is gone.
var ErrReceipt = errors.New("the receipt has expired")

// ReceiveQuery says what is to be received.
type ReceiveQuery struct {
	Queue      string
	Limit      int           // 1 to MaxReceive
	Visibility time.Duration // 0: the queue's
	// Match: only what contains this, see [Contains]; of the first [Scanned] that are ready. A world that cannot
	// look into payloads refuses it with [ErrInvalid].
	Match json.RawMessage
}

// Scanned is how many messages a conditional receive looks at.
const Scanned = 1_000

// Received is what was received.
type Received struct {
	Messages []Message
	More     bool      // others are ready
	Next     time.Time // when to look again: the next one is ready then, or later; zero: none is to come
	Now      time.Time // of the store
	Dead     int       // how many became dead letters, as they were received too often
}

// Wait is how long to wait before looking again, where nobody tells of news: until the next one is ready, and
// most at most.
func (r *Received) Wait(most time.Duration) time.Duration {
	if r.Next.IsZero() {
		return most
	}
	return min(most, max(r.Next.Sub(r.Now), time.Millisecond))
}

// SettleKind says how a receive ends.
type SettleKind string

// How a receive ends.
const (
	Ack    SettleKind = "ack"    // done: the message is deleted
	Nack   SettleKind = "nack"   // it is ready again After
	Extend SettleKind = "extend" // it is not over: After is how long it lasts from now
	Bury   SettleKind = "bury"   // the message is a dead letter

	// Unread: nobody has looked at it. It is ready again After, and the receive does not count.
	Unread SettleKind = "unread"
)

// Settlement is the end of one receive.
type Settlement struct {
	Receipt string
	Kind    SettleKind
	After   time.Duration // Nack, Unread: 0 to MaxDelay; Extend: MinVisibility to MaxVisibility
	Error   string        // Nack, Bury: why, for people; at most 1,000 bytes are kept
	Queues  string        // how the name of the message's queue must begin: else the receipt does not hold; "": in any way
}

// End is how a receive of the message ends, and why. after counts where the message is ready again, for [Nack] and [Unread], and
// is kept within what a store takes.
func (m *Message) End(kind SettleKind, after time.Duration, why string) Settlement {
	if kind != Nack && kind != Unread {
		after = 0
	}
	return Settlement{Receipt: m.Receipt, Kind: kind, After: min(max(after, 0), MaxDelay), Error: why}
}

// PeekQuery says what is to be looked at.
type PeekQuery struct {
	Queue  string
	State  MessageState // "": all
	Cursor string
	Limit  int // 1 to 1,000; 0: 100
}

// MessagePage is a page of messages; Cursor is "" where there are no more.
type MessagePage struct {
	Messages []Message
	Cursor   string
}

// CheckReceive refuses, with [ErrInvalid], what no store receives by.
func CheckReceive(q *ReceiveQuery) error {
	if err := CheckQueueName(q.Queue); err != nil {
		return err
	}
	switch v := q.Visibility; {
	case q.Limit < 1 || q.Limit > MaxReceive:
		return fmt.Errorf("%w: queue %s: receive %d messages: want 1 to %d", ErrInvalid, q.Queue, q.Limit, MaxReceive)
	case v != 0 && (v < MinVisibility || v > MaxVisibility):
		return fmt.Errorf("%w: queue %s: visibility %s: want %s to %s", ErrInvalid, q.Queue, v, MinVisibility, MaxVisibility)
	case q.Match != nil && !json.Valid(q.Match):
		return fmt.Errorf("%w: queue %s: the match is not JSON", ErrInvalid, q.Queue)
	}
	return nil
}

// maxSettleError is how much of the error of a receive is kept.
const maxSettleError = 1_000

// CheckSettlements refuses, with [ErrInvalid], what no receive ends with, and cuts errors.
func CheckSettlements(all []Settlement) error {
	if len(all) == 0 || len(all) > MaxBatch {
		return fmt.Errorf("%w: %d receipts at once: want 1 to %d", ErrInvalid, len(all), MaxBatch)
	}
	for i := range all {
		s := &all[i]
		if _, _, err := ReadReceipt(s.Receipt); err != nil {
			return err
		}
		least, most := time.Duration(0), time.Duration(0)
		switch s.Kind {
		case Ack, Bury:
		case Nack, Unread:
			most = MaxDelay
		case Extend:
			least, most = MinVisibility, MaxVisibility
		default:
			return fmt.Errorf("%w: receipt %s: %.40q ends no receive", ErrInvalid, s.Receipt, s.Kind)
		}
		if s.Queues != "" && CheckQueueName(s.Queues) != nil {
			return fmt.Errorf("%w: receipt %s: no queue's name begins with %.140q", ErrInvalid, s.Receipt, s.Queues)
		}
		if s.After < least || s.After > most {
			return fmt.Errorf("%w: receipt %s: %s after %s: want %s to %s", ErrInvalid, s.Receipt, s.Kind, s.After, least, most)
		}
		s.Error = keptError(s.Error)
	}
	return nil
}

// keptError is what is kept of an error.
func keptError(e string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(e[:min(len(e), maxSettleError)], "\x00", ""), "")
}

// CheckPeek refuses, with [ErrInvalid], what nobody can look at, and fills in the limit. It returns the number
// that the page begins behind.
func CheckPeek(q *PeekQuery) (behind int64, err error) {
	if err := CheckQueueName(q.Queue); err != nil {
		return 0, err
	}
	switch q.State {
	case "", MessageReady, MessageDelayed, MessageOut, MessageParked, MessageDead:
	default:
		return 0, fmt.Errorf("%w: queue %s: messages are not %.40q: want ready, delayed, out, parked or dead", ErrInvalid, q.Queue, q.State)
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 1_000 {
		return 0, fmt.Errorf("%w: queue %s: look at %d messages: want 1 to 1000", ErrInvalid, q.Queue, q.Limit)
	}
	if q.Cursor == "" {
		return 0, nil
	}
	behind, ok := MessageNumber(q.Cursor)
	if !ok {
		return 0, fmt.Errorf("%w: queue %s: the cursor %.60q does not belong to this list", ErrInvalid, q.Queue, q.Cursor)
	}
	return behind, nil
}

// NoReceipt is the error for a birth whose receipt does not hold.
func NoReceipt(c *Commit) error {
	return fmt.Errorf("run %s: %w: the message was received again, or no longer exists; nothing was written", c.Run, ErrReceipt)
}

// NoQueue is the error for a queue that was not declared.
func NoQueue(name string) error {
	return fmt.Errorf("queue %.140q: %w: declare it first", name, ErrNotFound)
}

// QueueFilled is the error for a queue that cannot be dropped, as a subscription fills it; nil: none does.
func QueueFilled(name string, all []Subscription) error {
	for i := range all {
		if s := &all[i]; s.Damage == "" && s.OwnQueue() == name {
			return fmt.Errorf("queue %s: %w: it belongs to subscription %s; end that first", name, ErrConflict, s.Name)
		}
	}
	return nil
}

// QueueNotEmpty is the error for a queue that cannot be dropped.
func QueueNotEmpty(name string) error {
	return fmt.Errorf("queue %s: %w: it has messages; purge them first", name, ErrConflict)
}
