package work

// This file has clients that do the same thing again and again, at once.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// crowd lets so many clients call do, one call after the other, until a time is over. It returns how long each call took, and how long it was
// until the last one had returned: a call that has begun counts whole. The first error ends all.
func crowd(ctx context.Context, clients int, span time.Duration, do func(ctx context.Context) error) (times []time.Duration, took time.Duration, err error) {
	began := time.Now()
	end := began.Add(span)
	times, err = repeat(ctx, clients, do, func(int64) bool { return time.Now().Before(end) })
	return times, time.Since(began), err
}

// times lets so many clients call do n times in all.
func times(ctx context.Context, clients, n int, do func(ctx context.Context) error) (all []time.Duration, took time.Duration, err error) {
	began := time.Now()
	all, err = repeat(ctx, clients, do, func(i int64) bool { return i < int64(n) })
	return all, time.Since(began), err
}

func repeat(ctx context.Context, clients int, do func(ctx context.Context) error, more func(i int64) bool) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	each := make([][]time.Duration, clients)
	var failed error
	var fail sync.Once
	var next atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for more(next.Add(1)-1) && ctx.Err() == nil {
				began := time.Now()
				if err := do(ctx); err != nil {
					fail.Do(func() { failed = fmt.Errorf("client %d: %w", c, err) })
					cancel()
					return
				}
				each[c] = append(each[c], time.Since(began))
			}
		})
	}
	wg.Wait()
	var all []time.Duration
	for _, times := range each {
		all = append(all, times...)
	}
	if failed == nil && len(all) == 0 {
		failed = errors.New("nothing was measured")
	}
	return all, failed
}

// warm runs something for a while before it is measured: a tenth of the time, and each client once.
func warm(ctx context.Context, b *Bench, do func(ctx context.Context) error) error {
	if _, _, err := times(ctx, b.Concurrency, b.Concurrency, do); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	if _, _, err := crowd(ctx, b.Concurrency, b.Time/10, do); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}
