package stepwell

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
)

// Awaitable is a [Future] of any type, or a [ChildRun].
type Awaitable interface {
	future() *replay.Future
}

func (f *Future[T]) future() *replay.Future {
	if f == nil {
		return nil
	}
	return f.f
}

// Select waits for the first of several futures, of whatever types, to end and returns its index. The others go on: see
// [CancelLosers]. A cancel of the run ends waits, too: their Get returns [ErrCancelled]. Without futures it is an error.
func Select(ctx Context, fs ...Awaitable) (int, error) {
	if len(fs) == 0 {
		return -1, fmt.Errorf("%w: a select needs at least one future", ErrInvalid)
	}
	rs := make([]*replay.Future, len(fs))
	if err := kit.Given(fs, func(Awaitable) {}); err != nil {
		return -1, fmt.Errorf("select: %w", err)
	}
	for i, f := range fs {
		if rs[i] = f.future(); rs[i] == nil { // it failed before it was asked for
			return i, nil
		}
	}
	i := ctx.x.WaitAny(rs...)
	if i < 0 {
		return -1, ctx.x.Refusal()
	}
	return i, nil
}

// CancelLosers cancels what is behind those futures that have not ended: contexts of steps end, waits return [ErrCancelled],
// coroutines see it at their next operation. A child run is waited for no longer, and is cancelled, unless it is [Detached]. It is
// for after a [Race] or [Select]; what a step that runs returns all the same is recorded. A nil among them blocks the run.
func CancelLosers(ctx Context, fs ...Awaitable) {
	if err := kit.Given(fs, func(Awaitable) {}); err != nil {
		halt(fmt.Errorf("cancel losers: %w", err))
	}
	for _, f := range fs {
		if r := f.future(); r != nil {
			ctx.x.CancelFuture(r)
		}
	}
}

// Timer is [Sleep] as a future, for [Select] and [Race].
func Timer(ctx Context, name string, d time.Duration) *Future[struct{}] {
	f := ctx.x.Sleep(name, d)
	return &Future[struct{}]{f: f, get: func(ctx Context) (struct{}, error) { return struct{}{}, waitFor(ctx, f) }}
}

// Received is what a wait for an event came to: OK is false where its timeout passed first.
type Received[T any] struct {
	Payload T
	OK      bool
}

// Start is [EventDef.Wait] as a future, for [Select] and [Race].
func (e *EventDef[T]) Start(ctx Context, opts ...WaitOption) *Future[Received[T]] {
	if e == nil {
		return failedFuture[Received[T]](kit.Missing("the event"))
	}
	var o waitOptions
	err := kit.Given(opts, func(opt WaitOption) { opt.waitOption(&o) })
	var match json.RawMessage
	if err == nil {
		match, err = e.match(&o)
	}
	if err != nil {
		return failedFuture[Received[T]](fmt.Errorf("wait for event %q: %w", e.name, err))
	}
	in := &incoming[T]{kind: "event", name: e.name}
	f := ctx.x.CheckedEvent(e.name, match, o.timeout, o.timed, in.check(o.tell), o.listen)
	return &Future[Received[T]]{f: f, get: func(ctx Context) (r Received[T], err error) {
		if f.Done() && f.Err() == nil && !f.Received() {
			return r, nil
		}
		r.Payload, err = in.result(ctx, f)
		r.OK = err == nil
		return r, err
	}}
}

// AwaitTimeout is [Await] with a deadline: it returns true when cond holds, and false when d has passed first. Where both come
// true at once, the condition wins. A d of zero or less looks at cond once.
func AwaitTimeout(ctx Context, d time.Duration, cond func() bool) (bool, error) {
	if cond == nil {
		return false, kit.Missing("await: the condition")
	}
	if d <= 0 {
		return cond(), nil
	}
	ok, err := ctx.x.Await("await", cond, d)
	if errors.Is(err, replay.ErrCancelled) {
		return false, ErrCancelled
	}
	return ok, err
}
