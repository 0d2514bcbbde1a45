// Package courier works on messages while a program runs: those of one queue for whoever handles them, and all that
// topics need of workers and servers: what is published is spread, runs are started and endpoints are told.
package courier

// This file receives the messages of a queue, keeps them while they are worked on, and settles them.

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Consumer works on the messages of one queue. Its fields are set before it runs.
type Consumer struct {
	Queue      string
	Visibility time.Duration // the queue's
	Keep       world.Messenger
	Notifier   world.Notifier // nil: nobody tells of news
	Log        *slog.Logger
	Drain      time.Duration // what is worked on may take so long when the consumer ends
	Parallel   int           // messages at once

	// Declare makes the queue; again where somebody has dropped it.
	Declare func(ctx context.Context, again bool) error
	// Work works on a message, and says how its receive ends; a Kind of "" leaves it to whoever has it by now. ctx ends
	// with [world.ErrReceipt] where that is somebody else, and with [engine.ErrDraining] where there is no more time.
	Work func(ctx context.Context, m *world.Message) world.Settlement
	// Room is how many messages may be received just now, of so many for which there is room, and if it is none how
	// long to wait before asking again. Nil: there is no such limit.
	Room func(most int) (n int, wait time.Duration)
	// Idle is how often it looks where nobody told of news; 0: every 5 s.
	Idle time.Duration

	hints   string        // a command that shows more; "": that which shows dead letters
	backlog bool          // as far as the last receive tells
	slots   chan struct{} // one for each message that is worked on
	all     sync.WaitGroup

	busy chan struct{} // something is out
	mu   sync.Mutex
	out  map[string]*working // by receipt
}

// working is a message that is worked on.
type working struct {
	cancel     context.CancelCauseFunc
	visibility time.Duration // as it was received
	renewed    time.Time
}

// pause is how long one rests that could not reach the store.
const pause = time.Second

// LookAgain is how often one who waits for messages looks where nobody told of any.
const LookAgain = 5 * time.Second

// Run works until ctx ends, and returns when nothing is worked on any more.
func (c *Consumer) Run(ctx context.Context) {
	c.slots, c.busy, c.out = make(chan struct{}, c.Parallel), make(chan struct{}, 1), map[string]*working{}
	for c.Declare(ctx, false) != nil {
		if !rest(ctx, pause) {
			return
		}
	}
	news := NewNews(c.Notifier, c.Queue)
	defer news.Stop()
	handlers, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	keeping, done := context.WithCancel(handlers)
	var keeper sync.WaitGroup
	keeper.Go(func() { c.keep(keeping) })
	for c.next(ctx, handlers, news) {
	}
	drained := time.AfterFunc(c.Drain, func() { stop(engine.ErrDraining) })
	c.all.Wait()
	drained.Stop()
	done()
	keeper.Wait()
}

// next receives as much as there is room for, and waits where there is nothing. It is false when the program stops.
func (c *Consumer) next(ctx, handlers context.Context, news *News) bool {
	room := c.claimSlots(ctx)
	if room == 0 {
		return false
	}
	may := room
	if c.Room != nil {
		var wait time.Duration
		if may, wait = c.Room(room); may == 0 {
			c.free(room)
			return rest(ctx, wait)
		}
	}
	got, err := c.Keep.ReceiveMessages(ctx, world.ReceiveQuery{Queue: c.Queue, Limit: may})
	c.backlog = len(got.Messages) == may
	if got.Dead > 0 {
		c.Log.Warn("messages are dead letters: they were received too often", "messages", got.Dead, "hint", c.hint())
	}
	alone := slices.IndexFunc(got.Messages, func(m world.Message) bool { return m.Receives >= suspicious && m.Error == "" })
	for i := range got.Messages {
		switch m := &got.Messages[i]; {
		case alone < 0:
			c.start(handlers, m, got.Now)
		case i != alone: // it is not to pay for what that one does
			c.settle(handlers, m, Unread(m, 0))
			<-c.slots
		}
	}
	c.free(room - len(got.Messages))
	if alone >= 0 {
		c.startAlone(ctx, handlers, &got.Messages[alone], got.Now)
		return ctx.Err() == nil
	}
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, world.ErrNotFound):
		return c.Declare(ctx, true) == nil || rest(ctx, pause)
	case err != nil:
		c.Log.Warn("nothing is received", "error", err, "hint", "It is tried again every second")
		return rest(ctx, pause)
	case got.More || len(got.Messages) == may:
		return true
	}
	again := time.NewTimer(got.Wait(cmp.Or(c.Idle, LookAgain)))
	defer again.Stop()
	select {
	case <-news.Came:
	case <-again.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// linger is for how long slots are waited for where more messages are there than they hold: each receive costs a
// transaction, and one for each message that ends is dear.
const linger = 2 * time.Millisecond

// claimSlots waits for a slot, and has all that are free; 0: the program stops.
func (c *Consumer) claimSlots(ctx context.Context) (room int) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	most := min(c.Parallel, world.MaxReceive)
	var over <-chan time.Time // nil: nothing is waited for
	if c.backlog {
		t := time.NewTimer(linger)
		defer t.Stop()
		over = t.C
	}
	for room = 1; room < most; {
		select {
		case c.slots <- struct{}{}:
			room++
			continue
		default:
		}
		if over == nil || room >= most/2 {
			break
		}
		select {
		case c.slots <- struct{}{}:
			room++
		case <-over:
			over = nil
		case <-ctx.Done():
			over = nil
		}
	}
	return room
}

// free gives back slots.
func (c *Consumer) free(n int) {
	for range n {
		<-c.slots
	}
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
func (c *Consumer) hint() string {
	return cmp.Or(c.hints, "stepwell queues peek "+c.Queue+" --state dead")
}

// start works on a message; its slot is taken. Its visibility is known from how it was received, at a time of
// the store.
func (c *Consumer) start(handlers context.Context, m *world.Message, at time.Time) {
	ctx, done := c.own(handlers, m, at)
	c.all.Go(func() {
		defer func() { <-c.slots }()
		s := c.Work(ctx, m)
		if done(); s.Kind != "" {
			c.settle(handlers, m, s)
		}
	})
}

// own renews a message until done is called. The context is of its handler.
func (c *Consumer) own(handlers context.Context, m *world.Message, at time.Time) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(handlers)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out[m.Receipt] = &working{cancel, m.Until.Sub(at), time.Now()}
	select {
	case c.busy <- struct{}{}:
	default:
	}
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
func (c *Consumer) startAlone(ctx, handlers context.Context, m *world.Message, at time.Time) {
	own, done := c.own(handlers, m, at)
	held := 1 // its own slot
	defer func() { c.free(held) }()
	stopped := false
	for ; held < c.Parallel && !stopped; held++ {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			stopped = true
			held--
		}
	}
	s := Unread(m, 0)
	if !stopped && own.Err() == nil {
		s = c.Work(own, m)
	}
	if done(); s.Kind != "" {
		c.settle(handlers, m, s)
	}
}

// Unread gives back a message that nobody has looked at, as it was.
func Unread(m *world.Message, after time.Duration) world.Settlement {
	return world.Settlement{Receipt: m.Receipt, Kind: world.Unread, After: after, Error: m.Error}
}

// settle ends a receive; while the store is away it tries again, as long as the receive lasts.
func (c *Consumer) settle(ctx context.Context, m *world.Message, s world.Settlement) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Visibility)
	defer cancel()
	if s.Kind == world.Bury {
		c.Log.Warn("a message is a dead letter", "message", m.ID, "error", s.Error, "hint", c.hint())
	}
	for {
		done, err := c.Keep.SettleMessages(ctx, []world.Settlement{s})
		if err == nil {
			if !done[0] {
				c.Log.Warn("a message was worked on for longer than it was this program's: it is worked on again", "message", m.ID)
			}
			return
		}
		c.Log.Warn("the end of a message is not written", "message", m.ID, "error", err, "hint", "It is tried again every second")
		if !rest(ctx, pause) {
			return
		}
	}
}

// keep renews what is worked on, when a third of its time is over. What is somebody else's by now is told so.
func (c *Consumer) keep(ctx context.Context) {
	for rest(ctx, world.MinVisibility/4) {
		now := time.Now()
		c.mu.Lock()
		if len(c.out) == 0 { // nothing wakes it before there is something
			c.mu.Unlock()
			select {
			case <-c.busy:
			case <-ctx.Done():
			}
			continue
		}
		var all []world.Settlement
		for receipt, w := range c.out {
			if now.Sub(w.renewed) >= w.visibility/3 {
				w.renewed = now
				all = append(all, world.Settlement{Receipt: receipt, Kind: world.Extend, After: max(w.visibility, world.MinVisibility)})
			}
		}
		c.mu.Unlock()
		for some := range slices.Chunk(all, world.MaxBatch) {
			done, err := c.Keep.SettleMessages(ctx, some)
			c.mu.Lock()
			for i, s := range some {
				switch w := c.out[s.Receipt]; {
				case w == nil:
				case err != nil:
					w.renewed = time.Time{} // again at once
				case !done[i]:
					w.cancel(world.ErrReceipt)
				}
			}
			c.mu.Unlock()
		}
	}
}
