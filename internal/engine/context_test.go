package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

var errWhy = errors.New("why")

func TestStepContextIsAContextWhenAsked(t *testing.T) {
	asks := map[string]func(context.Context){
		"nothing":  func(context.Context) {},
		"err":      func(ctx context.Context) { _ = ctx.Err() },
		"done":     func(ctx context.Context) { _ = ctx.Done() },
		"value":    func(ctx context.Context) { _ = ctx.Value("key") },
		"cause":    func(ctx context.Context) { _ = context.Cause(ctx) },
		"deadline": func(ctx context.Context) { _, _ = ctx.Deadline() },
	}
	ends := map[string]struct {
		end        func(c *stepContext, endBodies context.CancelCauseFunc)
		err, cause error
	}{
		"goes on":         {func(*stepContext, context.CancelCauseFunc) {}, nil, nil},
		"cancelled":       {func(c *stepContext, _ context.CancelCauseFunc) { c.cancel(errWhy) }, context.Canceled, errWhy},
		"returned":        {func(c *stepContext, _ context.CancelCauseFunc) { c.cancel(nil) }, context.Canceled, context.Canceled},
		"worker drains":   {func(_ *stepContext, end context.CancelCauseFunc) { end(ErrDraining) }, context.Canceled, ErrDraining},
		"first one stays": {func(c *stepContext, end context.CancelCauseFunc) { c.cancel(errWhy); c.cancel(nil); end(ErrDraining) }, context.Canceled, errWhy},
	}
	for before, ask := range asks {
		for name, end := range ends {
			t.Run(before+"/"+name, func(t *testing.T) {
				parent, endBodies := context.WithCancelCause(context.WithValue(t.Context(), infoKey{}, "not this one"))
				defer endBodies(nil)
				c := &stepContext{parent: parent, seat: &seat{info: StepInfo{Name: "mine"}}}
				ask(c)
				end.end(c, endBodies)
				if got, want := cause(c), end.cause; got != want {
					t.Errorf("cause: got %v, want %v", got, want)
				}
				if got, want := c.Err(), end.err; got != want {
					t.Errorf("Err: got %v, want %v", got, want)
				}
				if got, want := context.Cause(c), end.cause; got != want {
					t.Errorf("context.Cause: got %v, want %v", got, want)
				}
				child, stop := context.WithCancel(c)
				defer stop()
				if got, want := context.Cause(child), end.cause; got != want {
					t.Errorf("cause of a context below: got %v, want %v", got, want)
				}
				select {
				case <-c.Done():
					if end.err == nil {
						t.Error("Done is closed")
					}
				default:
					if end.err != nil {
						t.Error("Done is not closed")
					}
				}
				if got, want := Info(child).Name, "mine"; got != want {
					t.Errorf("Info: got %q, want %q", got, want)
				}
				c.cancel(nil)
				if child.Err() == nil {
					t.Error("a context below goes on after the body has returned")
				}
			})
		}
	}
}

// Whoever asks for Done while the context ends gets a channel that is closed.
func TestStepContextIsMadeWhileItEnds(t *testing.T) {
	for range 200 {
		c := &stepContext{parent: t.Context(), seat: &seat{}}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				select {
				case <-c.Done():
				case <-time.After(time.Minute):
					t.Error("Done is not closed")
				}
				if got := context.Cause(c); got != errWhy {
					t.Errorf("cause: got %v, want %v", got, errWhy)
				}
			})
		}
		wg.Go(func() { c.cancel(errWhy) })
		wg.Wait()
	}
}
