// Package goroutines has goroutines, channels, locks, and where the Context goes.
package goroutines

import (
	"context"
	"iter"
	"sync"

	"github.com/stepwell/stepwell"
)

func lookUp(ctx context.Context, line string) (int, error) { return len(line), nil }

var kept stepwell.Context

func wrong(ctx stepwell.Context, lines []string) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := make(chan int, 3)
	for _, line := range lines {
		wg.Go(func() { // want `WaitGroup.Go in workflow code: the order in which goroutines get to run`
			_, _ = stepwell.Step(ctx, "look-up", func(ctx context.Context) (int, error) { return lookUp(ctx, line) }) // want `the workflow's Context ctx on another goroutine`
		})
	}
	wg.Wait()   // want `WaitGroup.Wait in workflow code`
	mu.Lock()   // want `Mutex.Lock in workflow code`
	go func() { // want `a go statement in workflow code`
		out <- 1
	}()
	go later(ctx) // want `a go statement in workflow code` `the workflow's Context on another goroutine`
	out <- 2      // want `a send on a channel in workflow code`
	select {      // want `select in workflow code: what is ready first`
	case n := <-out:
		_ = n
	default:
	}
	for n := range out { // want `a range over a channel`
		_ = n
	}
	parallel(lines) // want `goroutines.parallel comes to a go statement \(goroutines/goroutines.go:\d+\)`
	kept = ctx      // want `the workflow's Context is kept in kept`
	return nil
}

func later(ctx stepwell.Context) {}

func parallel(lines []string) {
	for range lines {
		go func() {}()
	}
}

func pulled(ctx stepwell.Context, h *stepwell.Hook[int]) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		_ = stepwell.Sleep(ctx, "nap", 1) // want `the workflow's Context ctx on another goroutine`
	})
	defer stop()
	next()
}

func right(ctx stepwell.Context, lines []string) ([]int, error) {
	part, cancel := stepwell.WithCancel(ctx)
	defer cancel()
	first := stepwell.Go(part, func(ctx stepwell.Context) (int, error) {
		return stepwell.Step(ctx, "look-up", func(ctx context.Context) (int, error) {
			var wg sync.WaitGroup // a body may have goroutines
			wg.Go(func() {})      // near: goroutines
			wg.Wait()             // near: locks
			done := make(chan int)
			go func() { done <- 1 }()
			return <-done, nil // near: channels
		})
	})
	if _, err := first.Get(ctx); err != nil {
		return nil, err
	}
	return stepwell.Map(ctx, lines, 8, func(ctx stepwell.Context, line string) (int, error) {
		return stepwell.Step(ctx, "look-up", func(ctx context.Context) (int, error) { return lookUp(ctx, line) })
	})
}
