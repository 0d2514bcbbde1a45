package queue

// This file holds a queue as programs name it.

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Queue is a named queue with the type of its messages' payloads. It is safe for concurrent use.
type Queue[T any] struct {
	def   world.MessageQueue
	keys  func(payload []byte) (map[string]string, error) // of its limits; nil: it has none
	fault error                                           // of the definition

	mu       sync.Mutex
	declared world.Messenger // where it was declared last
}

// Option is an option of a queue: [Visibility], [MaxReceives], [Limits].
type Option interface{ queueOption(*defining) }

type option func(*defining)

func (o option) queueOption(d *defining) { o(d) }

// defining is a queue, as the options of its definition make it.
type defining struct {
	world.MessageQueue
	limited []any // stepwell.Limit
}

// Limits limit how many messages are worked on at once, or received in a period, by all receivers
// together.
func Limits(all ...stepwell.Limit) Option {
	return option(func(q *defining) {
		for _, l := range all {
			q.limited = append(q.limited, l)
		}
	})
}

// Visibility is how long a received message stays hidden from other receivers: 1 s to 12 h, default
// 30 s. A receive can override it with [For]. A handler renews it while it works.
func Visibility(d time.Duration) Option {
	return option(func(q *defining) { q.Visibility = d })
}

// MaxReceives is how often a message is received before it becomes a dead letter: 1 to 1,000,
// default 20.
func MaxReceives(n int) Option {
	return option(func(q *defining) { q.MaxReceives = n })
}

// Define defines a queue. A name has 1 to 128 bytes of A-Z a-z 0-9 _ . -; the first use of a bad
// name fails. The first use by each program creates the queue in the database, or updates its
// options.
//
//	queue.Define[Mail]("mails", queue.Limits(stepwell.Limit{AtOnce: 3, By: "to"}))
//
// Limits apply to messages sent from then on, by any program: see docs/queues.md. A definition
// without Limits keeps those in the database, unless this program handles the queue.
func Define[T any](name string, opts ...Option) *Queue[T] {
	d := defining{MessageQueue: world.MessageQueue{Name: name}}
	q := &Queue[T]{fault: kit.Given(opts, func(o Option) { o.queueOption(&d) })}
	if q.fault == nil {
		q.fault = world.CheckQueue(&d.MessageQueue)
	}
	if q.fault == nil && len(d.limited) > 0 {
		if d.Limits, q.keys, q.fault = kit.QueueLimits(name, reflect.TypeFor[T](), d.limited); q.fault != nil {
			q.fault = fmt.Errorf("queue %s: %w", name, q.fault)
		}
	}
	q.def = d.MessageQueue
	return q
}

// Name returns the queue's name.
func (q *Queue[T]) Name() string { return q.def.Name }

// open finds the queue in an App's database, and declares it there the first time.
func (q *Queue[T]) open(ctx context.Context, app *stepwell.App) (kit.App, error) {
	if q == nil {
		return kit.App{}, kit.Missing("the queue")
	}
	if app == nil {
		return kit.App{}, kit.Missing("queue " + q.def.Name + ": the App")
	}
	room := kit.AppOf(app)
	return room, q.declare(ctx, room.Messages)
}

// Declare creates the queue in a store, as its first use would. Subscriptions to topics call it.
func (q *Queue[T]) Declare(ctx context.Context, keep world.Messenger) error {
	switch {
	case q == nil:
		return kit.Missing("the queue")
	case keep == nil:
		return kit.Missing("queue " + q.def.Name + ": the store")
	}
	return q.declare(ctx, keep)
}

func (q *Queue[T]) declare(ctx context.Context, k world.Messenger) error {
	if q.fault != nil {
		return q.fault
	}
	q.mu.Lock()
	declared := q.declared == k
	q.mu.Unlock()
	if declared {
		return nil
	}
	return q.say(ctx, k, q.def)
}

// own declares the queue for its handler: one that has no limits has none from then on.
func (q *Queue[T]) own(ctx context.Context, k world.Messenger) error {
	if q.fault != nil {
		return q.fault
	}
	def := q.def
	if def.Limits == nil {
		def.Limits = []world.SaidLimit{}
	}
	return q.say(ctx, k, def)
}

func (q *Queue[T]) say(ctx context.Context, k world.Messenger, def world.MessageQueue) error {
	if err := k.DeclareQueue(ctx, def); err != nil {
		return fmt.Errorf("declare queue %s: %w", q.def.Name, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declared = k
	return nil
}

// dropped has the queue declared anew where an error says that it is not there: somebody has dropped it.
func (q *Queue[T]) dropped(err error) bool {
	if !errors.Is(err, world.ErrNotFound) {
		return false
	}
	q.forget()
	return true
}

// forget has the queue declared anew.
func (q *Queue[T]) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.declared = nil
}

// errNoTransactions is the error for a store that shares no transactions.
var errNoTransactions = fmt.Errorf("%w: a transaction needs a store that shares transactions, like PostgreSQL; this one does not", world.ErrInvalid)

// Errors that callers test for, besides those of package stepwell.
var (
	// ErrReceipt means that the receive is over: another receiver has the message, or it is gone.
	// Nothing was written.
	ErrReceipt = world.ErrReceipt
)
