package queue

// This file works on messages while an App runs.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// HandleOption is an option of a handler: [Parallel], [Retry], [Transactional].
type HandleOption interface{ handleOption(*handling) }

type handleOption func(*handling)

func (o handleOption) handleOption(h *handling) { o(h) }

type handling struct {
	parallel int
	policy   engine.Policy
	inTx     bool // see Transactional
	starts   bool // runs, each together with the acknowledgement
}

// Parallel sets how many messages a handler works on at once in each program. Default 10.
func Parallel(n int) HandleOption { return handleOption(func(h *handling) { h.parallel = n }) }

// Retry sets the delay before a message is received again after its handler returned an error.
// [MaxReceives] limits the number of attempts; Attempts and Total of r are ignored.
func Retry(r stepwell.Retry) HandleOption {
	return handleOption(func(h *handling) {
		h.policy = engine.Policy{Backoff: engine.Backoff(r.Backoff), Base: r.Base, Cap: r.Cap, Jitter: r.Jitter}
	})
}

// Handle returns a definition. An App that has it receives messages while it runs, and calls fn
// with each.
//
//   - If fn returns nil, the message is acknowledged.
//   - If fn returns an error or panics, the message is received again after a delay: see [Retry].
//     [stepwell.RetryAfter] sets the delay. [stepwell.Fatal] makes the message a dead letter at
//     once.
//   - While fn works, no other program receives the message. The context ends with [ErrReceipt] if
//     another program received it after all, for example because this one stood still. It ends with
//     [stepwell.ErrDraining] when the App has stopped and its drain is over; the message is then
//     ready again.
//   - If two receives of a message ended without a result, as after a crash, its program works on
//     it alone.
//
// A message that T cannot hold becomes a dead letter. An App can have one handler, or one
// [StartsWorkflow], for a queue; [stepwell.New] refuses a second with [stepwell.ErrInvalid]. Other
// programs may have their own.
func (q *Queue[T]) Handle(fn func(ctx context.Context, m *Message[T]) error, opts ...HandleOption) stepwell.Definition {
	switch {
	case q == nil:
		return faulty(kit.Missing("handle: the queue"))
	case fn == nil:
		return faulty(kit.Missing("queue " + q.def.Name + ": the handler"))
	}
	return q.handle(func(ctx context.Context, _ kit.App, m *Message[T]) error { return fn(ctx, m) }, opts)
}

func faulty(err error) stepwell.Definition {
	return kit.NewPart(kit.Part{Fault: err}).(stepwell.Definition)
}

// errSettled is what a handler returns that has settled its message itself.
var errSettled = errors.New("it is settled")

func (q *Queue[T]) handle(fn func(ctx context.Context, room kit.App, m *Message[T]) error, opts []HandleOption) stepwell.Definition {
	h := handling{parallel: 10}
	fault := kit.Given(opts, func(o HandleOption) { o.handleOption(&h) })
	switch {
	case h.parallel < 1 || h.parallel > 10_000:
		fault = fmt.Errorf("%w: queue %s: %d in parallel: want 1 to 10000", world.ErrInvalid, q.def.Name, h.parallel)
	case h.inTx && h.starts:
		fault = fmt.Errorf("%w: queue %s: a message that starts a run does so in one commit with its acknowledgement: leave out Transactional", world.ErrInvalid, q.def.Name)
	}
	h.policy.Attempts = -1
	h.policy = h.policy.WithDefaults()
	if fault = cmp.Or(fault, h.policy.Validate()); fault == nil {
		fault = q.fault
	}
	return kit.NewPart(kit.Part{Fault: fault, Alone: "a handler of queue " + q.def.Name, Of: q.def.Name, Limits: q.def.Limits, Check: func(able world.Abilities) error {
		if h.inTx && able.Transactor == nil {
			return fmt.Errorf("queue %s: its handler is Transactional: %w", q.def.Name, errNoTransactions)
		}
		return nil
	}, Run: func(ctx context.Context, room kit.App) {
		c := &consumer[T]{queue: q, fn: fn, handling: h, room: room, log: room.Logger.With("queue", q.def.Name)}
		(&courier.Consumer{
			Queue: q.def.Name, Visibility: q.def.Or().Visibility, Keep: room.Messages, Notifier: room.Notifier, Log: c.log, Drain: room.Drain, Parallel: h.parallel, Idle: room.Poll,
			Declare: func(ctx context.Context, _ bool) error { return q.own(ctx, room.Messages) },
			Work:    c.work,
		}).Run(ctx)
	}}).(stepwell.Definition)
}

// consumer is one handler in one program that runs.
type consumer[T any] struct {
	handling
	queue *Queue[T]
	fn    func(ctx context.Context, room kit.App, m *Message[T]) error
	room  kit.App
	log   *slog.Logger
}

// work calls the handler, and says how the receive ends.
func (c *consumer[T]) work(ctx context.Context, m *world.Message) world.Settlement {
	typed, err := read[T](c.room, m)
	switch {
	case errors.Is(err, world.ErrNoKey): // another program may have it
		c.log.Warn("this program cannot process a message", "message", m.ID, "error", err, "hint", "Give this program the key, or let one process it that has the key")
		return courier.Unread(m, noKey)
	case err != nil:
		return m.End(world.Bury, 0, err.Error())
	}
	handle := c.call
	if c.inTx {
		handle = c.callInTx
	}
	if err = handle(ctx, typed); err == nil {
		return m.End(world.Ack, 0, "")
	}
	told, ok := err.(*engine.Told)
	if !ok {
		told = c.policy.Ask(err) // it is none of the handler's
	}
	delay, again := c.policy.Verdict(told, m.Receives, time.Time{}, time.Time{})
	switch {
	case errors.Is(err, errSettled), errors.Is(context.Cause(ctx), ErrReceipt):
		return m.End("", 0, "") // it is somebody else's
	case errors.Is(context.Cause(ctx), stepwell.ErrDraining):
		return courier.Unread(m, 0)
	case errors.Is(err, errNotBegun):
		c.log.Warn("cannot begin a transaction for a message", "message", m.ID, "error", err, "hint", "It is ready again in a second")
		return courier.Unread(m, time.Second)
	case again:
		return m.End(world.Nack, delay, err.Error())
	}
	return m.End(world.Bury, 0, err.Error())
}

// call calls the handler. A panic, and a call of Goexit, is an error.
func (c *consumer[T]) call(ctx context.Context, m *Message[T]) (err error) {
	done := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			} else if !returned {
				done <- errors.New("the handler called runtime.Goexit")
			}
		}()
		err := c.fn(ctx, c.room, m)
		if err != nil && err != errSettled { //nolint:errorlint // a handler's error is asked here, where its methods may panic
			err = c.policy.Ask(err)
		}
		returned = true
		done <- err
	}()
	return <-done
}
