package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// stepContext is the context of an attempt. Many bodies ask theirs for nothing, and one that can be cancelled costs four allocations and a lock that all
// bodies of a worker share. So the real one is made when the body first asks for what only that can tell.
type stepContext struct {
	parent context.Context // of all bodies; it has no deadline
	seat   *seat
	made   atomic.Pointer[madeContext]

	mu    sync.Mutex
	over  bool  // cancelled before it was made; guarded by mu
	cause error // and why; guarded by mu
}

type madeContext struct {
	context.Context // which it is
	cancel          context.CancelCauseFunc
}

// Deadline implements [context.Context]: that of an attempt with a timeout is a context below this one.
func (c *stepContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *stepContext) Done() <-chan struct{} { return c.make().Done() }

// Err implements [context.Context].
func (c *stepContext) Err() error {
	if m := c.made.Load(); m != nil {
		return m.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return context.Canceled
	}
	return c.parent.Err()
}

// Value implements [context.Context]. What is not the seat may be what package context keeps in its own.
func (c *stepContext) Value(key any) any {
	if _, ok := key.(infoKey); ok {
		return c.seat
	}
	return c.make().Value(key)
}

func (c *stepContext) make() *madeContext {
	if m := c.made.Load(); m != nil {
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.made.Load(); m != nil {
		return m
	}
	m := &madeContext{}
	parent := c.parent
	if c.over {
		parent = context.WithoutCancel(parent) // what came first counts
	}
	m.Context, m.cancel = context.WithCancelCause(parent)
	if c.over {
		m.cancel(c.cause)
	}
	c.made.Store(m)
	return m
}

// cancel ends the context. Only the first cause counts; nil is for a body that has returned.
func (c *stepContext) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.made.Load(); m != nil {
		m.cancel(cause)
	} else if !c.over {
		c.over, c.cause = true, cause
	}
}

// cause is [context.Cause] of an attempt's context, which it does not make for that.
func cause(ctx context.Context) error {
	c, ok := ctx.(*stepContext)
	if !ok || c.made.Load() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	over, why := c.over, c.cause
	c.mu.Unlock()
	switch {
	case c.made.Load() != nil: // meanwhile
		return context.Cause(ctx)
	case !over:
		return context.Cause(c.parent)
	case why == nil:
		return context.Canceled
	}
	return why
}
