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
func outside[T any](ctx context.Context, b *bridge, call func(ctx context.Context) (T, error)) (v T, err error) {
	if err := ctx.Err(); err != nil {
		return v, context.Cause(ctx)
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
	below, err := outside(ctx, b, func(context.Context) (world.World, error) { return open() })
	if err != nil {
		return nil, err
	}
	return &bridged{b: b, below: below, able: world.AbilitiesOf(below), heard: map[int]func(world.Notice){}}, nil
}

// bridged is the world as the bubble sees it. It gives notice by itself, of all kinds and after each change: nobody
// else changes what is there, and notices of the world below would come from outside.
type bridged struct {
	b     *bridge
	below world.World
	able  world.Abilities

	mu    sync.Mutex
	heard map[int]func(world.Notice) // guarded by mu: who wants notices
	last  int                        // guarded by mu: key of heard
}

// news are the notices of a change.
var news = []world.NoticeKind{world.NoticeWork, world.NoticeMail, world.NoticeEnded, world.NoticeLog, world.NoticeStream, world.NoticeMessage, world.NoticeTopic, world.NoticeSchedule}

func (w *bridged) Notify(fn func(world.Notice)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	key := w.last
	w.heard[key] = fn
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.heard, key)
	}
}

func (w *bridged) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fn := range w.heard {
		for _, kind := range news {
			fn(world.Notice{Kind: kind})
		}
	}
}

// Time is the bubble's, which the world below is told.
func (w *bridged) Time() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Abilities are what is made to go through the bridge.
func (w *bridged) Abilities() world.Abilities {
	a := world.Abilities{Notifier: w, Timekeeper: w}
	if w.able.TaskReader != nil {
		a.TaskReader = w
	}
	if w.able.Holder != nil {
		a.Holder = w
	}
	if w.able.KeyBook != nil {
		a.KeyBook = w
	}
	if w.able.Definer != nil {
		a.Definer = w
	}
	if w.able.MessageKeeper != nil {
		a.MessageKeeper = w
	}
	if w.able.TopicKeeper != nil {
		a.TopicKeeper = w
	}
	if w.able.ScheduleKeeper != nil {
		a.ScheduleKeeper = w
	}
	if w.able.StartKeeper != nil {
		a.StartKeeper = w
	}
	if w.able.LimitKeeper != nil {
		a.LimitKeeper = w
	}
	return a
}

// change makes a call that others may wait for.
func change[T any](ctx context.Context, w *bridged, call func(ctx context.Context) (T, error)) (T, error) {
	v, err := outside(ctx, w.b, call)
	w.changed()
	return v, err
}

func (w *bridged) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return change(ctx, w, func(ctx context.Context) (world.Committed, error) { return w.below.Commit(ctx, c) })
}

func (w *bridged) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Committed, error) { return w.below.Outcome(ctx, c) })
}

func (w *bridged) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	return change(ctx, w, func(ctx context.Context) (world.Delivered, error) { return w.below.Deliver(ctx, d) })
}

func (w *bridged) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.EventPage, error) { return w.below.Events(ctx, run, q) })
}

func (w *bridged) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Heartbeat, error) { return w.below.Join(ctx, wk) })
}

func (w *bridged) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Claimed, error) { return w.below.Claim(ctx, q) })
}

func (w *bridged) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Heartbeat, error) { return w.below.Heartbeat(ctx, q) })
}

func (w *bridged) Leave(ctx context.Context, worker string) error {
	return nothing(change(ctx, w, func(ctx context.Context) (struct{}, error) { return struct{}{}, w.below.Leave(ctx, worker) }))
}

func (w *bridged) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	return change(ctx, w, func(ctx context.Context) (world.Appended, error) { return w.below.Append(ctx, a) })
}

func (w *bridged) Chunks(ctx context.Context, run, stream string, q world.ChunkQuery) (world.ChunkPage, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.ChunkPage, error) { return w.below.Chunks(ctx, run, stream, q) })
}

func (w *bridged) StreamsOf(ctx context.Context, run string) ([]world.StreamRow, error) {
	return outside(ctx, w.b, func(ctx context.Context) ([]world.StreamRow, error) { return w.below.StreamsOf(ctx, run) })
}

func (w *bridged) Run(ctx context.Context, id string) (world.Run, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Run, error) { return w.below.Run(ctx, id) })
}

func (w *bridged) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.RunPage, error) { return w.below.Runs(ctx, q) })
}

func (w *bridged) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	return outside(ctx, w.b, func(ctx context.Context) ([]world.HookRow, error) { return w.below.Hooks(ctx, q) })
}

func (w *bridged) Stats(ctx context.Context) (world.Stats, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Stats, error) { return w.below.Stats(ctx) })
}

func (w *bridged) Sweep(ctx context.Context, limit int) (int, error) {
	return outside(ctx, w.b, func(ctx context.Context) (int, error) { return w.below.Sweep(ctx, limit) })
}

func (w *bridged) Close() error {
	return nothing(outside(context.Background(), w.b, func(context.Context) (struct{}, error) { return struct{}{}, w.below.Close() }))
}

func (w *bridged) Tasks(ctx context.Context, run string) ([]world.Task, error) {
	return outside(ctx, w.b, func(ctx context.Context) ([]world.Task, error) { return w.able.TaskReader.Tasks(ctx, run) })
}

func (w *bridged) Held(ctx context.Context, worker string) (world.Account, error) {
	return outside(ctx, w.b, func(ctx context.Context) (world.Account, error) { return w.able.Holder.Held(ctx, worker) })
}

func (w *bridged) BindKey(ctx context.Context, id string, print []byte) ([]byte, error) {
	return outside(ctx, w.b, func(ctx context.Context) ([]byte, error) { return w.able.KeyBook.BindKey(ctx, id, print) })
}

func nothing(_ struct{}, err error) error { return err }
