package stepwell

// Undo functions: what takes back finished steps of a run that does not complete.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Compensate registers fn as what undoes a step that has just finished. When the workflow's function returns an error, or the run is
// cancelled, all undo functions that were registered run in reverse order, one after another, as steps of the run; then the run ends.
//
//	pay, err := Charge.Run(ctx, order)
//	if err != nil {
//		return err
//	}
//	stepwell.Compensate(ctx, "refund", func(ctx context.Context) error { return bank.Refund(ctx, pay.ID) })
//
// An undo is a step: its name is recorded, its body runs at least once, [Info] has its idempotency key. No cancel reaches it. One that
// fails is tried again without limit, up to a minute apart, unless a [Retry] among opts has Attempts, or it returns [Fatal]; if it fails
// for good the others run all the same, and the run's error has both: what the function returned, and an [*UndoError].
//
// Before the first undo all else that the workflow's function left behind is cancelled, and steps that still run are waited for, as they
// may finish yet and register theirs: see [Config].CancelGrace. What is never undone: a run that is cancelled by force, or while it is
// blocked, or by a worker that does not have its code; a step whose result the function did not wait for.
//
// It writes nothing, and may be called where the run is cancelled already. A bad name or option blocks the run.
func Compensate(ctx Context, name string, fn func(ctx context.Context) error, opts ...StepOption) {
	all := localOf(ctx)
	if all == nil {
		return // a foreign goroutine: the run is blocked for it
	}
	u := undo{name: name, fn: fn, at: engine.Caller(0), policy: engine.Policy{Attempts: Unlimited}}
	if err := u.check(opts); err != nil {
		halt(fmt.Errorf("undo %q: %w", name, err))
	}
	if u.policy.Attempts == 0 {
		u.policy.Attempts = Unlimited
	}
	all.list = append(all.list, u)
}

// check refuses a bad name, and takes the options.
func (u *undo) check(opts []StepOption) error {
	if err := world.CheckName("undo name", u.name); err != nil {
		return err
	}
	if err := stepPolicy(&u.policy, opts); err != nil {
		return err
	}
	if u.fn == nil {
		return fmt.Errorf("%w: no function", ErrInvalid)
	}
	return nil
}

// DropUndo forgets the undo functions that were registered under a name: what they would undo is to stay, whatever comes. It returns how
// many there were. [ContinueAsNew] needs it where some are registered.
func DropUndo(ctx Context, name string) int {
	all := localOf(ctx)
	if all == nil {
		return 0
	}
	before := len(all.list)
	all.list = slices.DeleteFunc(all.list, func(u undo) bool { return u.name == name })
	return before - len(all.list)
}

// UndoError says that an undo function failed for good: what it was to undo is still done.
type UndoError struct {
	Undo string // its name
	Err  error  // a [*StepError]
}

func (e *UndoError) Error() string { return fmt.Sprintf("undo %q failed: %v", e.Undo, e.Err) }

// Unwrap returns how its step failed.
func (e *UndoError) Unwrap() error { return e.Err }

type undo struct {
	name   string
	fn     func(context.Context) error
	at     uintptr // where it was registered: see [engine.Caller]
	policy engine.Policy
}

// compensate runs the undo functions of a run that does not complete, in a coroutine of their own, so that their steps are told from others by its path. It
// returns the run's error.
func compensate(ctx Context, err error) error {
	all := localOf(ctx)
	if all == nil || all.list == nil || err == nil && !ctx.x.Cancelled() {
		return err
	}
	ctx.x.Settle()
	var failed []error
	f := ctx.x.Uncancelled().Go(world.UndoPath, func(x *replay.Ctx, _ *replay.Future) error {
		for len(all.list) > 0 {
			last := all.list[len(all.list)-1]
			all.list = all.list[:len(all.list)-1]
			if err := last.run(Context{x.From(last.at), ctx.env}); err != nil {
				failed = append(failed, &UndoError{Undo: last.name, Err: err})
			}
		}
		return nil
	})
	ctx.x.Wait(f)
	if len(failed) == 0 {
		return err
	}
	return errors.Join(append([]error{err}, failed...)...)
}

func (u *undo) run(ctx Context) error { return Do(ctx, u.name, u.fn, policyOption(u.policy)) }

// policyOption is a whole policy.
type policyOption engine.Policy

func (o policyOption) stepOption(p *engine.Policy) { *p = engine.Policy(o) }
