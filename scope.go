package stepwell

// Parts of a run that are cancelled by themselves.

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// WithCancel returns a Context for a part of the run, and a function that cancels that part. The
// rest of the run goes on.
//
//	part, cancel := stepwell.WithCancel(ctx)
//	defer cancel()
//
// cancel ends operations that were requested with part, or with a Context derived from it, in the
// order of their requests. Contexts of step bodies end; a step ends once its body returns (see
// [Config].CancelGrace), with [ErrCancelled] unless the body returns a value. Sleeps, timers and
// waits return ErrCancelled at once. Waits for child runs do too, and children that are not
// [Detached] are cancelled. Later operations with part return ErrCancelled and are not recorded.
// Code in a [Go] or [Map] gets ErrCancelled at its next operation.
//
// Parts can be nested; a cancel of the outer part, or of the run, cancels the inner one. Results
// from before the cancel stay. Hooks stay open. Undo functions belong to the run: a cancel of a
// part runs none. Only workflow code may call cancel. You can defer it, and a second call is
// harmless. The log does not record it, because replay repeats it.
func WithCancel(ctx Context) (part Context, cancel func()) {
	part = Context{x: ctx.x.Scope(), env: ctx.env}
	return part, func() { part.x.End(false) }
}

// WithTimeout is [WithCancel] with a time limit. When d has passed, the part is cancelled;
// [CancelCause] of part, and the cause of its steps' contexts, is then [ErrTimeout]. The limit is a
// durable timer with the given name. The timer stays in the run's log until it is due. If d is zero
// or less, the part is cancelled at once. A bad name blocks the run.
func WithTimeout(ctx Context, name string, d time.Duration) (part Context, cancel func()) {
	if err := world.CheckName("timeout name", name); err != nil {
		halt(fmt.Errorf("timeout %q: %w", name, err))
	}
	part, cancel = WithCancel(ctx)
	if d <= 0 {
		part.x.End(true)
		return part, cancel
	}
	part.x.Go("timeout", func(x *replay.Ctx, _ *replay.Future) error {
		err := waitFor(Context{x: x, env: ctx.env}, x.Sleep(name, d))
		if err == nil {
			part.x.End(true)
		}
		return err
	})
	return part, cancel
}
