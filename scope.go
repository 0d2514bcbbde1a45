package stepwell

// Parts of a run that are cancelled by themselves.

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// WithCancel returns a Context for a part of the run, and what cancels that part. The rest of the run goes on.
//
//	part, cancel := stepwell.WithCancel(ctx)
//	defer cancel()
//
// A cancel ends what was asked for with part, or with a Context that was made of it, in the order in which it was asked
// for: contexts of steps' bodies end, and their step has ended when the body returns (see [Config].CancelGrace), with
// [ErrCancelled] unless it returns a value; sleeps, timers and waits for events, payloads, conditions and other runs
// end with [ErrCancelled] at once; a child run is waited for no longer, and is cancelled unless it is [Detached]. What
// is asked for with part from then on returns [ErrCancelled], and nothing of it is recorded; code in a [Go] or [Map]
// sees that at its next operation.
//
// A part can be within another, which ends it too, as does a cancel of the run. What ends before the cancel stays as it
// is. Hooks stay open. Undo functions belong to the run, see [Undo]: a cancel of a part runs none. It is the code
// that cancels, on replay too, and so nothing is recorded for it; to cancel a second time is nothing, and where the
// code returns, or panics, cancel may be deferred. cancel is of the workflow's code alone, as the Context is.
func WithCancel(ctx Context) (part Context, cancel func()) {
	part = Context{x: ctx.x.Scope(), env: ctx.env}
	return part, func() { part.x.End(false) }
}

// WithTimeout is [WithCancel] with a time after which the part is cancelled by itself: [CancelCause] of part is
// [ErrTimeout] then, and so is the cause of the contexts that end. The time is a durable timer of that name; like that
// of a [Timer] that has lost a race, it stays in the run's log until it is due. A time of zero or less is over at once.
// A bad name blocks the run.
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
