package stepwell

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Future is a result that workflow code asked for and can wait for later: of a registered step, a
// child run, an event, a hook, a [Timer], or a [Go].
type Future[T any] struct {
	f   *replay.Future
	get func(Context) (T, error)
}

// Get waits for the result. Later calls return the same result.
func (f *Future[T]) Get(ctx Context) (T, error) {
	if err := f.check(); err != nil {
		var zero T
		return zero, err
	}
	if f.f != nil && !ctx.x.Wait(f.f) {
		var zero T
		return zero, ctx.x.Refusal()
	}
	return f.get(ctx)
}

// Done reports whether the result has arrived.
func (f *Future[T]) Done() bool {
	if err := f.check(); err != nil {
		halt(err)
	}
	return f.f == nil || f.f.Done()
}

// newFuture decodes what was recorded. A value that today's type cannot hold blocks the run: it never becomes a silent zero.
func newFuture[T any](_ Context, f *replay.Future) *Future[T] {
	return &Future[T]{f: f, get: func(ctx Context) (T, error) { return recorded[T](ctx, f) }}
}

// recorded decodes the result of a future that is done.
func recorded[T any](ctx Context, f *replay.Future) (v T, err error) {
	if f.Err() != nil {
		return v, stepError(ctx, f)
	}
	if err := codec.Decode(ctx.whole(f.Payload(), f.Apart()), &v); err != nil {
		key, _ := f.Key()
		panic(engine.BlockOver(f, world.CodeDecode, fmt.Errorf("the recorded result of step %q does not fit: %w", key, err)))
	}
	return v, nil
}

func failedFuture[T any](err error) *Future[T] {
	return &Future[T]{get: func(Context) (v T, _ error) { return v, err }}
}

// Go runs fn as a coroutine of the workflow. Only one coroutine runs at a time, and they switch
// only where they wait. So they may share variables without locks.
func Go[T any](ctx Context, fn func(ctx Context) (T, error)) *Future[T] {
	if fn == nil {
		return failedFuture[T](fmt.Errorf("%w: go: no function", ErrInvalid))
	}
	var v T
	f := ctx.x.Go("", func(x *replay.Ctx, _ *replay.Future) error {
		var err error
		v, err = fn(Context{x, ctx.env})
		return err
	})
	return &Future[T]{f: f, get: func(Context) (T, error) { return v, f.Err() }}
}

// All waits for all futures and returns their results in order. At the first failure it returns
// that error at once; the other futures go on.
func All[T any](ctx Context, fs ...*Future[T]) ([]T, error) {
	if err := checkFutures("all", fs); err != nil {
		return nil, err
	}
	for _, f := range fs {
		if f.f == nil { // it failed before it was asked for
			_, err := f.get(ctx)
			return nil, err
		}
	}
	if i := ctx.x.WaitAll(pending(fs)...); i >= 0 {
		_, err := fs[i].Get(ctx)
		return nil, err
	}
	out := make([]T, len(fs))
	for i, f := range fs {
		v, err := f.Get(ctx)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Race waits for the first future to end and returns its result or its error. It cancels the
// others: contexts of steps end, waits return [ErrCancelled], coroutines get it at their next
// operation, and child runs that are not [Detached] are cancelled. If a cancelled step still
// returns a value, the value is recorded. Without futures Race returns an error.
//
// [Select] accepts futures of different types, and cancels none.
func Race[T any](ctx Context, fs ...*Future[T]) (T, error) {
	var zero T
	if len(fs) == 0 {
		return zero, fmt.Errorf("%w: a race needs at least one future", ErrInvalid)
	}
	if err := checkFutures("race", fs); err != nil {
		return zero, err
	}
	first := slices.IndexFunc(fs, func(f *Future[T]) bool { return f.f == nil }) // it failed before it was asked for
	if first < 0 {
		first = ctx.x.WaitAny(pending(fs)...)
	}
	if first < 0 {
		return zero, ctx.x.Refusal()
	}
	for i, f := range fs {
		if i != first && f.f != nil {
			ctx.x.CancelFuture(f.f)
		}
	}
	return fs[first].Get(ctx)
}

func pending[T any](fs []*Future[T]) []*replay.Future {
	rs := make([]*replay.Future, len(fs))
	for i, f := range fs {
		rs[i] = f.f
	}
	return rs
}

// Map runs fn for each item and returns the results in order. At most limit items run at once; 0
// means all. Items begin in order. Each running item is a coroutine with a stack of about 8 KB, or
// more if fn calls deeply: give thousands of items a limit.
//
// Map stops at the first error, which it returns as an [*ItemError]. Items that have not begun
// never begin, contexts of running steps are cancelled, and so are children that are not
// [Detached].
//
// The Run method of a registered step or of a child is a suitable fn:
//
//	sizes, err := stepwell.Map(ctx, pictures, 4, Resize.Run)
//	bills, err := stepwell.Map(ctx, orders, 4, Invoice.Child().Run)
func Map[T, R any](ctx Context, items []T, limit int, fn func(ctx Context, item T) (R, error)) ([]R, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: map with limit %d: want 0 (all at once) or more", ErrInvalid, limit)
	}
	if fn == nil {
		return nil, fmt.Errorf("%w: map: no function", ErrInvalid)
	}
	out := make([]R, len(items))
	i, err := ctx.x.Items(len(items), limit, func(x *replay.Ctx, i int) error {
		v, err := fn(Context{x, ctx.env}, items[i])
		out[i] = v
		return err
	})
	if i >= 0 {
		return nil, &ItemError{Index: i, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Each is [Map] for a function without a result.
func Each[T any](ctx Context, items []T, limit int, fn func(ctx Context, item T) error) error {
	if fn == nil {
		_, err := Map[T, struct{}](ctx, items, limit, nil)
		return err
	}
	_, err := Map(ctx, items, limit, func(ctx Context, item T) (struct{}, error) { return struct{}{}, fn(ctx, item) })
	return err
}

// Settled is the result of one item of [MapSettled].
type Settled[T, R any] struct {
	Item  T     // the item that was given
	Value R     // its result; the zero value if Err is set
	Err   error // nil: Value is the result
}

// MapSettled is [Map] that continues after an item fails. It returns the result or error of each
// item, in order. Its own error is never that of an item: it is [ErrCancelled] if ctx is cancelled,
// or [ErrInvalid].
//
//	all, err := stepwell.MapSettled(ctx, orders, 8, Invoice.Run)
//	if err != nil {
//		return err
//	}
//	for _, order := range stepwell.Failed(all) {
func MapSettled[T, R any](ctx Context, items []T, limit int, fn func(ctx Context, item T) (R, error)) ([]Settled[T, R], error) {
	if fn == nil {
		_, err := Map(ctx, items, limit, fn)
		return nil, err
	}
	all, err := Map(ctx, items, limit, func(c Context, item T) (Settled[T, R], error) {
		v, err := fn(c, item)
		if err != nil && ctx.x.Cancelled() {
			return Settled[T, R]{}, ErrCancelled
		}
		return Settled[T, R]{Item: item, Value: v, Err: err}, nil
	})
	if failed := (*ItemError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return all, err
}

// Failed returns the items that failed, for example for another [MapSettled].
func Failed[T, R any](all []Settled[T, R]) []T {
	var items []T
	for i := range all {
		if all[i].Err != nil {
			items = append(items, all[i].Item)
		}
	}
	return items
}
