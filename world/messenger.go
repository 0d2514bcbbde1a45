package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Messenger keeps queues of messages, which need no runs. Each message is received at least once.
// Its state depends on the time: see [MessageState].
//
//   - A message is received until it is acknowledged, becomes a dead letter, or is purged.
//   - While the visibility of a receive lasts, nobody else receives the message. The receiver can
//     settle it later too, until another receive.
//   - One message of a group is out at a time: the first of those that are left. A dead letter
//     holds up no other.
//   - Higher priorities are received first; within a priority, the message that has been ready
//     longest.
//
// All methods are safe for concurrent use. Changes are durable when they return.
type Messenger interface {
	// DeclareQueue creates or updates a queue. A pause stays.
	DeclareQueue(ctx context.Context, q MessageQueue) error

	// PauseQueue pauses a queue: nothing is received from it. Nil ends the pause. The error is
	// [ErrNotFound] for an unknown queue.
	PauseQueue(ctx context.Context, queue string, pause *QueuePause) error

	// DropQueue deletes an empty queue. The error is [ErrConflict] if it has messages, or if a
	// subscription fills it.
	DropQueue(ctx context.Context, queue string) error

	// Queues returns the named queues, by name; without names, all.
	Queues(ctx context.Context, names ...string) ([]QueueStats, error)

	// SendMessages sends messages, all or none. The error is [ErrNotFound] for an undeclared queue.
	SendMessages(ctx context.Context, all []Message) ([]Sent, error)

	// ReceiveMessages receives ready messages. A message beyond MaxReceives becomes a dead letter
	// instead. The error is [ErrNotFound] for an undeclared queue.
	ReceiveMessages(ctx context.Context, q ReceiveQuery) (Received, error)

	// SettleMessages ends receives, independently. It returns, for each, whether its receipt was
	// valid; otherwise nothing happened.
	SettleMessages(ctx context.Context, all []Settlement) ([]bool, error)

	// PeekMessages returns messages in the order of their sends, and changes nothing.
	PeekMessages(ctx context.Context, q PeekQuery) (MessagePage, error)

	// PurgeMessages deletes at most [MaxBatch] messages, also those that are out; with dead, only
	// dead letters. more reports whether others are left.
	PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error)

	// RedriveMessages makes at most [MaxBatch] dead letters ready again, as if never received:
	// those with the given IDs, or all. more reports whether others are left.
	RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error)
}

// ErrReceipt means that the receive is over: another receiver has the message, or it is gone.
var ErrReceipt = errors.New("the receipt has expired")

// ReceiveQuery says what to receive.
type ReceiveQuery struct {
	Queue      string
	Limit      int           // 1 to MaxReceive
	Visibility time.Duration // 0: the queue's
	// Match selects messages that contain this JSON (see [Contains]), among the first [Scanned]
	// ready ones. A store that cannot read payloads returns [ErrInvalid].
	Match json.RawMessage
}

// Scanned is how many messages a receive with Match examines.
const Scanned = 1_000

// Received is the result of a receive.
type Received struct {
	Messages []Message
	More     bool      // others are ready
	Next     time.Time // the next one is ready then, or later; zero: none to come
	Now      time.Time // time of the store
	Dead     int       // how many became dead letters
}

// Wait returns how long to wait before the next receive without a notice: until Next, at most most.
func (r *Received) Wait(most time.Duration) time.Duration {
	if r.Next.IsZero() {
		return most
	}
	return min(most, max(r.Next.Sub(r.Now), time.Millisecond))
}

// SettleKind is how a receive ends.
type SettleKind string

// Ways to end a receive.
const (
	Ack    SettleKind = "ack"    // the message is deleted
	Nack   SettleKind = "nack"   // it is ready again after After
	Extend SettleKind = "extend" // the receive goes on for After from now
	Bury   SettleKind = "bury"   // the message becomes a dead letter

	// Unread gives back a message that nobody looked at. It is ready again after After, and the
	// receive does not count.
	Unread SettleKind = "unread"
)

// Settlement is the end of one receive.
type Settlement struct {
	Receipt string
	Kind    SettleKind
	After   time.Duration // Nack, Unread: 0 to MaxDelay; Extend: MinVisibility to MaxVisibility
	Error   string        // Nack, Bury: the reason, for people; at most 1,000 bytes are kept
	// Queues is a prefix that the name of the message's queue must have; otherwise the receipt is
	// invalid. "": any queue.
	Queues string
}

// End returns the settlement of the message's receive. after is used by [Nack] and [Unread], and is
// limited to what a store accepts.
func (m *Message) End(kind SettleKind, after time.Duration, why string) Settlement {
	if kind != Nack && kind != Unread {
		after = 0
	}
	return Settlement{Receipt: m.Receipt, Kind: kind, After: min(max(after, 0), MaxDelay), Error: why}
}

// PeekQuery says which messages to return.
type PeekQuery struct {
	Queue  string
	State  MessageState // "": all
	Cursor string
	Limit  int // 1 to 1,000; 0: 100
}

// MessagePage is a page of messages. Cursor is "" on the last page.
type MessagePage struct {
	Messages []Message
	Cursor   string
}

// CheckReceive returns [ErrInvalid] for an invalid query.
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

// CheckSettlements returns [ErrInvalid] for invalid settlements, and shortens long errors.
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

// CheckPeek returns [ErrInvalid] for an invalid query, and sets the default limit. It returns the
// number after which the page begins.
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

// NoReceipt returns the error for a birth with an invalid receipt.
func NoReceipt(c *Commit) error {
	return fmt.Errorf("run %s: %w: the message was received again, or no longer exists; nothing was written", c.Run, ErrReceipt)
}

// NoQueue returns the error for an undeclared queue.
func NoQueue(name string) error {
	return fmt.Errorf("queue %.140q: %w: declare it first", name, ErrNotFound)
}

// QueueFilled returns the error for dropping a queue that a subscription fills; nil: none does.
func QueueFilled(name string, all []Subscription) error {
	for i := range all {
		if s := &all[i]; s.Damage == "" && s.OwnQueue() == name {
			return fmt.Errorf("queue %s: %w: it belongs to subscription %s; end that first", name, ErrConflict, s.Name)
		}
	}
	return nil
}

// QueueNotEmpty returns the error for dropping a queue with messages.
func QueueNotEmpty(name string) error {
	return fmt.Errorf("queue %s: %w: it has messages; purge them first", name, ErrConflict)
}
