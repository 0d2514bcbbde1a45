// Package courier works on messages while a program runs: those of one queue for whoever handles them, and all that
// topics need of workers and servers: what is published is spread, runs are started and endpoints are told.
package courier

// This file receives the messages of a queue, and has them worked on. What is received is in stock.go, and how a
// receive ends in ends.go.

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/world"
)

// Consumer works on the messages of one queue. Its fields are set before it runs.
type Consumer struct {
	Queue      string
	Visibility time.Duration // the queue's
	Keep       world.Messenger
	Notifier   world.Notifier
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

	says    *logs.Seldom // warns: a store that is away for an hour, or ten thousand dead letters, are not as many lines
	hints   string       // a command that shows more; "": that which shows dead letters
	backlog bool         // as far as the last receive tells
	stock   stock
	ends    chan end
	all     sync.WaitGroup // of handlers
}

// pause is how long one rests that could not reach the store.
const pause = time.Second

// LookAgain is how often one who waits for messages looks where nobody told of any.
const LookAgain = 5 * time.Second

// Run works until ctx ends, and returns when nothing is worked on any more.
func (c *Consumer) Run(ctx context.Context) {
	c.says = logs.NewSeldom(c.Log)
	defer c.says.Flush()
	c.stock.init()
	c.ends = make(chan end, world.MaxReceive)
	for c.Declare(ctx, false) != nil {
		if !rest(ctx, pause) {
			return
		}
	}
	news := NewNews(c.Notifier, c.Queue)
	defer news.Stop()
	handlers, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { // also while a message is worked on alone
		if rest(handlers, c.Drain) {
			stop(engine.ErrDraining)
		}
	})()
	keeping, done := context.WithCancel(handlers)
	var keeper, settler sync.WaitGroup
	keeper.Go(func() { c.keep(keeping) })
	settler.Go(c.settlement)
	for c.next(ctx, handlers, news) {
	}
	c.giveBack(c.stock.drop(0))
	c.all.Wait()
	done()
	keeper.Wait()
	close(c.ends) // nobody puts anything in
	settler.Wait()
}

// next receives as much as there is room for, and waits where there is nothing. It is false when the program stops.
func (c *Consumer) next(ctx, handlers context.Context, news *News) bool {
	may := c.room(ctx)
	if may == 0 {
		return false
	}
	if c.Room != nil {
		var wait time.Duration
		if may, wait = c.Room(may); may == 0 {
			return rest(ctx, wait)
		}
	}
	asked := time.Now()
	got, err := c.receive(ctx, may)
	if ctx.Err() != nil { // the program stops: nobody looks at these
		for i := range got.Messages {
			c.ends <- end{&got.Messages[i], Unread(&got.Messages[i], 0)}
		}
		return false
	}
	c.backlog = len(got.Messages) == may
	if got.Dead > 0 {
		c.says.Warn("messages are dead letters: they were received too often", slog.Attr{}, "messages", got.Dead, "hint", c.hint())
	}
	alone := slices.IndexFunc(got.Messages, func(m world.Message) bool { return m.Receives >= suspicious && m.Error == "" })
	for i := range got.Messages {
		switch m := &got.Messages[i]; {
		case alone < 0:
			c.start(c.stock.own(handlers, m, got.Now, asked))
		case i != alone: // it is not to pay for what that one does
			c.ends <- end{m, Unread(m, 0)}
		}
	}
	if alone >= 0 {
		c.workAlone(ctx, c.stock.own(handlers, &got.Messages[alone], got.Now, asked))
		return ctx.Err() == nil
	}
	switch {
	case errors.Is(err, world.ErrNotFound):
		return c.Declare(ctx, true) == nil || rest(ctx, pause)
	case err != nil:
		c.says.Warn("nothing is received", slog.Attr{}, "error", err, "hint", "It is tried again every second")
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

// receive receives so many messages at most. A call that is on its way when the program stops has some time to come
// back: what it takes out would stay out, for its visibility, where nobody knows of it.
func (c *Consumer) receive(ctx context.Context, most int) (world.Received, error) {
	call, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(ctx, func() {
		if rest(call, pause) {
			giveUp(context.Cause(ctx))
		}
	})()
	return c.Keep.ReceiveMessages(call, world.ReceiveQuery{Queue: c.Queue, Limit: most})
}

// linger is for how long handlers are waited for where more messages are there than they hold: each receive costs a
// transaction, and one for each message that ends is dear.
const linger = 2 * time.Millisecond

// room waits until there is room for messages, and says for how many; 0: the program stops. Where more are there than
// handlers, as many are received ahead as these soon come to.
func (c *Consumer) room(ctx context.Context) int {
	var over <-chan time.Time // nil: nothing is waited for, or no longer
	lingers := c.backlog
	for {
		free, ahead := c.stock.free(c.Parallel)
		if c.backlog && c.Room == nil {
			free += ahead
		} else {
			ahead = 0
		}
		enough := 1
		if lingers {
			enough = max(1, min(c.Parallel+ahead, world.MaxReceive)/2)
		}
		switch {
		case free >= enough:
			return min(free, world.MaxReceive)
		case free > 0 && over == nil:
			t := time.NewTimer(linger)
			defer t.Stop()
			over = t.C
		}
		select {
		case <-c.stock.changed:
		case <-over:
			over, lingers = nil, false
		case <-ctx.Done():
			return 0
		}
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

// start works on a message, now or when a handler has time.
func (c *Consumer) start(w *working) {
	if c.stock.begin(w, c.Parallel) {
		c.all.Go(func() {
			for w := w; w != nil; w = c.stock.next() {
				c.work(w)
			}
		})
	}
}

// work works on a message, and says how its receive ends.
func (c *Consumer) work(w *working) {
	switch {
	case errors.Is(context.Cause(w.ctx), world.ErrReceipt): // while it waited
		c.stock.disown(w)
		return
	case w.ctx.Err() != nil, !c.stock.ours(w): // there is no more time, or it could not be renewed meanwhile
		c.giveBack([]*working{w})
		return
	}
	began := time.Now()
	s := c.Work(w.ctx, w.m)
	c.stock.disown(w)
	c.stock.took(time.Since(began))
	if s.Kind != "" {
		c.ends <- end{w.m, s}
	}
}

// suspicious is the receive from which a message is worked on alone, where the one before had no end that was told.
const suspicious = 3

// workAlone works on a message that may be what kills processes: when all others have ended, and nothing is
// received until it has.
func (c *Consumer) workAlone(ctx context.Context, w *working) {
	for c.stock.working() && ctx.Err() == nil {
		select {
		case <-c.stock.changed:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		c.work(w)
		return
	}
	c.giveBack([]*working{w})
}

// Unread gives back a message that nobody has looked at, as it was.
func Unread(m *world.Message, after time.Duration) world.Settlement {
	return m.End(world.Unread, after, m.Error)
}
