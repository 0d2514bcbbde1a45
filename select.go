package stepwell

import (
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

// Select waits for the first of several futures to end and returns its index. The futures may have
// different types. The others go on; [WithCancel] can end them. If the run is cancelled, waits end
// too, and their Get returns [ErrCancelled]. Without futures Select returns an error.
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

// Timer is [Sleep] as a future, for [Select] and [Race].
func Timer(ctx Context, name string, d time.Duration) *Future[struct{}] {
	f := ctx.x.Sleep(name, d)
	return &Future[struct{}]{f: f, get: func(ctx Context) (struct{}, error) { return struct{}{}, waitFor(ctx, f) }}
}

// Received is the result of a wait for an event or a hook. OK is false if the [Timeout] passed
// first.
type Received[T any] struct {
	Payload T    // the zero value without OK
	OK      bool // false: the Timeout passed first
}
