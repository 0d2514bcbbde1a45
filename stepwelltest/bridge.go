package stepwelltest

// This file calls a world from within a bubble that cannot live there, as it waits on sockets. Each call is made by a
// goroutine from outside, over channels from outside: so the bubble's clock stands still until the answer is there.
// The world is told the time before.

import (
	"context"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// atOnce is how many calls are made at once: more wait.
const atOnce = 32

// bridge makes the calls.
type bridge struct {
	setTime func(ctx context.Context, now time.Time) error
	free    chan *caller
	all     []*caller

	mu   sync.Mutex
	told time.Time // guarded by mu: the time that the world was told last
}

// caller makes one call at a time. Its channels are from outside.
type caller struct {
	calls chan func(ctx context.Context)
	stop  chan struct{} // ends the context of the call
	done  chan struct{}
}

// newBridge is called outside of the bubble.
func newBridge(setTime func(context.Context, time.Time) error) *bridge {
	b := &bridge{setTime: setTime, free: make(chan *caller, atOnce)}
	for range atOnce {
		c := &caller{calls: make(chan func(context.Context)), stop: make(chan struct{}), done: make(chan struct{})}
		go c.work()
		b.all = append(b.all, c)
		b.free <- c
	}
	return b
}

// end ends the goroutines. It is called outside of the bubble, when nobody calls any more.
func (b *bridge) end() {
	for _, c := range b.all {
		close(c.calls)
	}
}

func (c *caller) work() {
	for call := range c.calls {
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() {
			select {
			case <-c.stop:
				cancel()
			case <-over:
			}
		})
		call(ctx)
		close(over)
		watch.Wait()
		cancel()
		c.done <- struct{}{}
	}
}

// outside makes a call outside of the bubble it comes from.
func (b *bridge) outside(ctx context.Context, call world.Next) (v any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	now := time.Now() // of the bubble
	c := <-b.free
	defer func() { b.free <- c }()
	c.calls <- func(ctx context.Context) {
		if err = b.tell(ctx, now); err == nil {
			v, err = call(ctx)
		}
	}
	select {
	case <-c.done:
		return v, err
	case <-ctx.Done():
	}
	select {
	case c.stop <- struct{}{}:
		<-c.done
	case <-c.done:
	}
	if err != nil {
		err = context.Cause(ctx)
	}
	return v, err
}

// tell tells the world the time, if it has to be told. Nothing happens there before it knows.
func (b *bridge) tell(ctx context.Context, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !now.After(b.told) {
		return nil
	}
	err := b.setTime(ctx, now)
	if err == nil {
		b.told = now
	}
	return err
}

// open opens the world outside, and returns it for use inside.
func (b *bridge) open(ctx context.Context, open func() (world.World, error)) (world.World, error) {
	below, err := b.outside(ctx, func(context.Context) (any, error) { return open() })
	if err != nil {
		return nil, err
	}
	w := &bridged{}
	w.World = world.Intercept(below.(world.World), func(ctx context.Context, c world.Call, next world.Next) (any, error) {
		v, err := b.outside(ctx, next)
		if changes[c.Method] {
			w.listeners.Tell(news)
		}
		return v, err
	})
	return w, nil
}

// bridged is the world as the bubble sees it. It gives notice by itself, of all kinds and after each change: nobody
// else changes what is there, and notices of the world below would come from outside.
type bridged struct {
	world.World
	listeners world.Listeners
}

// changes are the methods that others may wait for.
var changes = map[string]bool{
	"Commit": true, "Deliver": true, "Leave": true, "Append": true,
	"Messages.DeclareQueue": true, "Messages.PauseQueue": true, "Messages.DropQueue": true, "Messages.SendMessages": true,
	"Messages.SettleMessages": true, "Messages.PurgeMessages": true, "Messages.RedriveMessages": true,
	"Topics.Publish": true, "Topics.Spread": true, "Schedules.PutSchedule": true, "Schedules.DeleteSchedule": true,
	"Starts.Hold": true, "Starts.Release": true, "Limits.SetLimit": true,
}

// news are the notices of a change.
var news = []world.Notice{
	{Kind: world.NoticeWork}, {Kind: world.NoticeMail}, {Kind: world.NoticeEnded}, {Kind: world.NoticeLog},
	{Kind: world.NoticeStream}, {Kind: world.NoticeMessage}, {Kind: world.NoticeTopic}, {Kind: world.NoticeSchedule},
}

func (w *bridged) Notify(fn func(world.Notice)) (stop func()) { return w.listeners.Add(fn) }

// Time is the bubble's, which the world below is told.
func (w *bridged) Time() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Abilities has nothing that would not go through the bridge.
func (w *bridged) Abilities() world.Abilities { return world.Abilities{Timekeeper: w} }
