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
// It writes nothing, and may be called where the run is cancelled already. A bad name or option blocks the run. Of a step that may have done something
// although it failed, [Undo] is the undo.
func Compensate(ctx Context, name string, fn func(ctx context.Context) error, opts ...StepOption) {
	all := localOf(ctx)
	if all == nil {
		return // a foreign goroutine: the run is blocked for it
	}
	u := undo{name: name, fn: fn, at: engine.Caller(0), policy: engine.Policy{Attempts: Unlimited}}
	if err := u.check(opts); err != nil {
		halt(fmt.Errorf("undo %q: %w", name, err))
	}
	all.list = append(all.list, u)
}

// check refuses a bad name, and takes the options.
func (u *undo) check(opts []StepOption) error {
	if err := world.CheckName("undo name", u.name); err != nil {
		return err
	}
	if err := undoPolicy(&u.policy, opts); err != nil {
		return err
	}
	if u.fn == nil {
		return fmt.Errorf("%w: no function", ErrInvalid)
	}
	return nil
}

// undoPolicy is how an undo is tried: without limit, unless that is said.
func undoPolicy(p *engine.Policy, opts []StepOption) error {
	err := stepPolicy(p, opts)
	if err == nil && p.Undo != nil {
		err = fmt.Errorf("%w: it has an undo of its own", ErrInvalid)
	}
	if p.Attempts == 0 {
		p.Attempts = Unlimited
	}
	return err
}

// undoOption is an undo of a step.
type undoOption engine.Undo

// Undo is [Compensate] for a step that may have had an effect although it failed: its time was up, its process died,
// its answer was lost. It is registered when the step is asked for, and so runs, where the run does not complete,
// whether the step completed, failed, or was cancelled, if an attempt of it has begun. fn is told which step it is to
// take back: its idempotency key, which every attempt had, and in Attempt how many have begun, at least. It must do no
// harm where there is nothing to take back.
//
//	err := stepwell.Do(ctx, "charge", func(ctx context.Context) error {
//		return bank.Charge(ctx, order.Total, stepwell.Info(ctx).IdempotencyKey)
//	}, stepwell.Undo("refund", func(ctx context.Context, of stepwell.StepInfo) error {
//		return bank.RefundAny(ctx, of.IdempotencyKey)
//	}))
//
// What the step returned is in variables of the workflow, where it returned it. [DropUndo] forgets it by its name. A
// run that goes on behind the failure and completes undoes nothing. In a [App.Fork] and a [App.Retry] steps have other
// keys than in the run that they were made of: where these take a step over, an undo that goes by a key needs one of
// yours, as the order's number.
func Undo(name string, fn func(ctx context.Context, of StepInfo) error, opts ...StepOption) StepOption {
	u := engine.Undo{Name: name, Run: fn, At: engine.Caller(0)}
	u.Fault = undoPolicy(&u.Policy, opts)
	return undoOption(u)
}

func (o undoOption) stepOption(p *engine.Policy) {
	u := engine.Undo(o)
	u.Next, p.Undo = p.Undo, &u
}

// undoes registers the undo functions of a step that was asked for.
func undoes(ctx Context, u *engine.Undo, f *replay.Future) {
	if u == nil || f.Op() == nil {
		return // it was not asked for, as where the run is cancelled
	}
	all := localOf(ctx)
	for ; all != nil && u != nil; u = u.Next {
		all.list = append(all.list, undo{name: u.Name, told: u.Run, of: f, at: u.At, policy: u.Policy})
	}
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
	told   func(context.Context, StepInfo) error // instead of fn: it is told of the step
	of     *replay.Future                        // the step that it takes back; nil: fn knows
	at     uintptr                               // where it was registered: see [engine.Caller]
	policy engine.Policy
}

// compensate runs the undo functions of a run that does not complete, in a coroutine of their own, so that their steps are told from others by its path. It
// returns the run's error.
func compensate(ctx Context, err error) error {
	all := localOf(ctx)
	if all == nil || all.list == nil || err == nil && !ctx.x.Cancelled() && !replay.CancelComes(ctx.x) {
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

func (u *undo) run(ctx Context) error {
	fn := u.fn
	if u.of != nil {
		of := stepOf(ctx, u.of)
		if of.Attempt == 0 {
			return nil // it had not begun
		}
		fn = func(ctx context.Context) error { return u.told(ctx, of) }
	}
	return Do(ctx, u.name, fn, policyOption(u.policy))
}

// stepOf is what an undo is told of a step, when that is over.
func stepOf(ctx Context, f *replay.Future) StepInfo {
	ctx.x.CancelFuture(f) // one that no cancel of the run reaches
	ctx.x.Wait(f)
	op := f.Op()
	attempt := op.Attempt()
	if err, ok := errors.AsType[*world.Error](f.Err()); f.Err() == nil || ok && err.Code != world.CodeCancelled && err.Code != world.CodeNotStarted {
		attempt = max(attempt, 1)
	}
	return StepInfo{Run: ctx.RunID(), Workflow: ctx.env.workflow, Step: op.ID, Name: op.Key.Name, Attempt: attempt, IdempotencyKey: op.ID}
}

// policyOption is a whole policy.
type policyOption engine.Policy

func (o policyOption) stepOption(p *engine.Policy) { *p = engine.Policy(o) }
