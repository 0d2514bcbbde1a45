package queue

// This file works on messages while an App runs.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// HandleOption says something of a handler: [Parallel], [Retry].
type HandleOption func(*handling)

type handling struct {
	parallel int
	policy   engine.Policy
}

// Parallel is how many messages a handler works on at once in each program, 10 where nobody says it.
func Parallel(n int) HandleOption { return func(h *handling) { h.parallel = n } }

// Retry says how long a message rests that a handler returned an error for. [MaxReceives] says how often it is
// tried: Attempts and Total say nothing here.
func Retry(r stepwell.Retry) HandleOption {
	return func(h *handling) {
		h.policy = engine.Policy{Backoff: r.Backoff, Base: r.Base, Cap: r.Cap, Jitter: r.Jitter}
	}
}

// Handle is a definition: an App that has it receives messages while it runs, and calls fn with each.
//
//   - nil: the message is acknowledged.
//   - An error: it comes again, later each time: see [Retry]. [stepwell.RetryAfter] says when, and
//     [stepwell.Fatal] makes it a dead letter at once. A panic is an
//     error.
//   - While fn works the message is nobody else's. The context ends with [ErrReceipt] where it is all the same,
//     as after a long standstill; with
//     [stepwell.ErrDraining] where the App has stopped, and its drain is over: then the message is ready again.
//   - A message whose receives ended twice with no word from their handler, as by a crash, is worked on alone
//     by its program.
//
// A message that T cannot hold is a dead letter.
func (q *Queue[T]) Handle(fn func(ctx context.Context, m *Message[T]) error, opts ...HandleOption) stepwell.Definition {
	h := handling{parallel: 10}
	fault := kit.Given(opts, func(o HandleOption) { o(&h) })
	switch {
	case q == nil:
		fault = kit.Missing("handle: the queue")
	case fn == nil:
		fault = kit.Missing("queue " + q.def.Name + ": the handler")
	case h.parallel < 1 || h.parallel > 10_000:
		fault = fmt.Errorf("%w: queue %s: %d in parallel: want 1 to 10000", world.ErrInvalid, q.def.Name, h.parallel)
	}
	h.policy.Attempts = -1
	h.policy = h.policy.WithDefaults()
	if fault = cmp.Or(fault, h.policy.Validate()); fault == nil {
		fault = q.fault
	}
	return kit.NewPart(kit.Part{Fault: fault, Run: func(ctx context.Context, room kit.App) {
		c := &consumer[T]{queue: q, fn: fn, handling: h, room: room, log: room.Logger.With("queue", q.def.Name), slots: make(chan struct{}, h.parallel), out: map[string]*working{}}
		c.run(ctx)
	}}).(stepwell.Definition)
}

// consumer is one handler in one program that runs.
type consumer[T any] struct {
	handling
	queue *Queue[T]
	fn    func(ctx context.Context, m *Message[T]) error
	room  kit.App
	log   *slog.Logger

	slots chan struct{} // one for each message that is worked on
	all   sync.WaitGroup

	mu  sync.Mutex
	out map[string]*working // by receipt
}

// working is a message that is worked on.
type working struct {
	cancel     context.CancelCauseFunc
	visibility time.Duration // as it was received
	renewed    time.Time
}

// pause is how long one rests that could not reach the store.
const pause = time.Second

func (c *consumer[T]) run(ctx context.Context) {
	for c.queue.declare(ctx, c.room.Messages) != nil {
		if !rest(ctx, pause) {
			return
		}
	}
	news := newNews(c.room.Notifier, c.queue.def.Name)
	defer news.stop()
	handlers, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	keeping, done := context.WithCancel(handlers)
	var keeper sync.WaitGroup
	keeper.Go(func() { c.keep(keeping) })
	for c.next(ctx, handlers, news) {
	}
	drained := time.AfterFunc(c.room.Drain, func() { stop(stepwell.ErrDraining) })
	c.all.Wait()
	drained.Stop()
	done()
	keeper.Wait()
}

// next receives as much as there is room for, and waits where there is nothing. It is false when the App stops.
func (c *consumer[T]) next(ctx, handlers context.Context, news *news) bool {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	room := 1
	for ; room < min(c.parallel, world.MaxReceive); room++ {
		select {
		case c.slots <- struct{}{}:
			continue
		default:
		}
		break
	}
	got, err := c.room.Messages.ReceiveMessages(ctx, world.ReceiveQuery{Queue: c.queue.def.Name, Limit: room})
	if got.Dead > 0 {
		c.log.Warn("messages are dead letters: they were received too often", "messages", got.Dead, "hint", c.hint())
	}
	alone := slices.IndexFunc(got.Messages, func(m world.Message) bool { return m.Receives >= suspicious && m.Error == "" })
	for i := range got.Messages {
		switch m := &got.Messages[i]; {
		case alone < 0:
			c.start(handlers, m, got.Now)
		case i != alone: // it is not to pay for what that one does
			c.settle(handlers, m, unread(m, 0))
			<-c.slots
		}
	}
	for range room - len(got.Messages) {
		<-c.slots
	}
	if alone >= 0 {
		c.startAlone(ctx, handlers, &got.Messages[alone], got.Now)
		return ctx.Err() == nil
	}
	switch {
	case ctx.Err() != nil:
		return false
	case c.queue.dropped(err):
		return c.queue.declare(ctx, c.room.Messages) == nil || rest(ctx, pause)
	case err != nil:
		c.log.Warn("nothing is received", "error", err, "hint", "It is tried again every second")
		return rest(ctx, pause)
	case got.More || len(got.Messages) == room:
		return true
	}
	again := time.NewTimer(got.Wait(lookAgain))
	defer again.Stop()
	select {
	case <-news.came:
	case <-again.C:
	case <-ctx.Done():
		return false
	}
	return true
}

func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hint is what shows dead letters.
func (c *consumer[T]) hint() string {
	return "stepwell queues peek " + c.queue.def.Name + " --state dead"
}

// start works on a message; its slot is taken. Its visibility is known from how it was received, at a time of
// the store.
func (c *consumer[T]) start(handlers context.Context, m *world.Message, at time.Time) {
	ctx, done := c.own(handlers, m, at)
	c.all.Go(func() {
		defer func() { <-c.slots }()
		s := c.work(ctx, m)
		if done(); s.Kind != "" {
			c.settle(handlers, m, s)
		}
	})
}

// own renews a message until done is called. The context is of its handler.
func (c *consumer[T]) own(handlers context.Context, m *world.Message, at time.Time) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(handlers)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out[m.Receipt] = &working{cancel, m.Until.Sub(at), time.Now()}
	return ctx, func() {
		c.mu.Lock()
		delete(c.out, m.Receipt)
		c.mu.Unlock()
		cancel(nil)
	}
}

// suspicious is the receive from which a message is worked on alone, where the one before had no end that was told.
const suspicious = 3

// startAlone works on a message that may be what kills processes: when all others have ended, and nothing is
// received until it has.
func (c *consumer[T]) startAlone(ctx, handlers context.Context, m *world.Message, at time.Time) {
	own, done := c.own(handlers, m, at)
	held := 1 // its own slot
	defer func() {
		for range held {
			<-c.slots
		}
	}()
	stopped := false
	for ; held < c.parallel && !stopped; held++ {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			stopped = true
			held--
		}
	}
	s := unread(m, 0)
	if !stopped && own.Err() == nil {
		s = c.work(own, m)
	}
	if done(); s.Kind != "" {
		c.settle(handlers, m, s)
	}
}

// work calls the handler, and says how the receive ends.
func (c *consumer[T]) work(ctx context.Context, m *world.Message) world.Settlement {
	s := world.Settlement{Receipt: m.Receipt, Kind: world.Ack}
	typed, err := read[T](c.room.Messages, m)
	switch {
	case errors.Is(err, world.ErrNoKey): // another program may have it
		c.log.Warn("a message cannot be worked on here", "message", m.ID, "error", err, "hint", "Give this program the key, or let one work that has it")
		return unread(m, noKey)
	case err != nil:
		s.Kind, s.Error = world.Bury, err.Error()
		return s
	}
	if err = c.call(ctx, typed); err == nil {
		return s
	}
	s.Error = err.Error()
	delay, again := c.policy.Verdict(err, m.Receives, time.Time{}, time.Time{})
	switch {
	case errors.Is(context.Cause(ctx), ErrReceipt):
		s.Kind = "" // it is somebody else's
	case errors.Is(context.Cause(ctx), stepwell.ErrDraining):
		return unread(m, 0)
	case again:
		s.Kind, s.After = world.Nack, min(delay, world.MaxDelay)
	default:
		s.Kind = world.Bury
	}
	return s
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
		err := c.fn(ctx, m)
		returned = true
		done <- err
	}()
	return <-done
}

// settle ends a receive; while the store is away it tries again, as long as the receive lasts.
func (c *consumer[T]) settle(ctx context.Context, m *world.Message, s world.Settlement) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.queue.def.Or().Visibility)
	defer cancel()
	if s.Kind == world.Bury {
		c.log.Warn("a message is a dead letter", "message", m.ID, "error", s.Error, "hint", c.hint())
	}
	for {
		done, err := c.room.Messages.SettleMessages(ctx, []world.Settlement{s})
		if err == nil {
			if !done[0] {
				c.log.Warn("a message was worked on for longer than it was this program's: it is worked on again", "message", m.ID)
			}
			return
		}
		c.log.Warn("the end of a message is not written", "message", m.ID, "error", err, "hint", "It is tried again every second")
		if !rest(ctx, pause) {
			return
		}
	}
}

// keep renews what is worked on, when a third of its time is over. What is somebody else's by now is told so.
func (c *consumer[T]) keep(ctx context.Context) {
	for rest(ctx, world.MinVisibility/4) {
		now := time.Now()
		c.mu.Lock()
		var all []world.Settlement
		for receipt, w := range c.out {
			if now.Sub(w.renewed) >= w.visibility/3 {
				w.renewed = now
				all = append(all, world.Settlement{Receipt: receipt, Kind: world.Extend, After: max(w.visibility, world.MinVisibility)})
			}
		}
		c.mu.Unlock()
		for some := range slices.Chunk(all, world.MaxBatch) {
			done, err := c.room.Messages.SettleMessages(ctx, some)
			c.mu.Lock()
			for i, s := range some {
				switch w := c.out[s.Receipt]; {
				case w == nil:
				case err != nil:
					w.renewed = time.Time{} // again at once
				case !done[i]:
					w.cancel(ErrReceipt)
				}
			}
			c.mu.Unlock()
		}
	}
}
