package stepwell

// Undo functions: a stack of what takes back the steps of a run that does not complete, or whose code says so.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// undoOption is an undo of a step.
type undoOption engine.Undo

// Undo adds an undo function for a step to the run's undo stack when the step is requested. If the
// run fails or is cancelled, it runs the functions on the stack, last first, one after another;
// then it ends. [UndoAll] runs them now, and the run goes on. [DropUndo] discards them.
//
//	err := stepwell.Exec(ctx, "reserve", stock.Reserve, order, stepwell.Undo("release", stock.Release, order))
//
// fn runs if an attempt of the step has begun, whether the step completed, failed or was cancelled.
// A registered step that is cancelled while it waits in the queue counts as begun, because the run
// cannot know whether a worker has just begun it. A failed step may have had its effect: its time
// was up, its process died, its answer was lost. So fn must be harmless if there is nothing to
// undo.
//
// [Info] gives fn the step in Undoes. Its Attempt is the last attempt that the log knows; at least
// that many have begun. If fn needs the step's result, use [AddUndo].
//
// An undo is a step of its own. Its name is recorded; fn and in are not. It runs at least once,
// [Info] has its own idempotency key, and no cancel reaches it. A failed undo is tried again
// without limit, with delays of up to a minute, unless opts has a [Retry] with Attempts or fn
// returns [Fatal]. If it fails for good, the other undo functions still run, and the run's error
// has both the workflow's error and an [*UndoError].
//
// At the run's end, the workflow's open operations are cancelled before the first undo. Running
// steps are waited for, because they may complete and add their own undo: see [Config].CancelGrace.
// Nothing is undone if the run completes, is cancelled by force, is cancelled while it is blocked,
// or is ended by a worker without its code.
//
// If step and undo need a common key, such as that of a payment, make it of the order's number. In
// a run that [App.Fork] or [App.Retry] made, Undoes has a new IdempotencyKey, also if the step acted
// in the old run.
func Undo[In any](name string, fn func(ctx context.Context, in In) error, in In, opts ...StepOption) StepOption {
	u := engine.Undo{Name: name, Run: undoing(fn, in), At: engine.Caller(0)}
	u.Fault = undoPolicy(&u.Policy, opts)
	return undoOption(u)
}

func (undoOption) stepOption() {}

func (o undoOption) stepDefinitionOption(p *engine.Policy) {
	u := engine.Undo(o)
	u.Next, p.Undo = p.Undo, &u
}

// Undoing is an undo function on a run's stack: see [AddUndo].
type Undoing struct {
	ctx Context
	u   *undo
}

// AddUndo adds an undo function to the run's stack now. Use it instead of [Undo] if fn needs the
// result of the step that it undoes. Call it directly after that step.
//
//	receipt, err := stepwell.Call(ctx, "charge", bank.Charge, order)
//	if err != nil {
//		return err
//	}
//	stepwell.AddUndo(ctx, "refund", bank.Refund, receipt)
//
// AddUndo writes nothing to the log, and works in a cancelled run too. A bad name or option blocks
// the run.
func AddUndo[In any](ctx Context, name string, fn func(ctx context.Context, in In) error, in In, opts ...StepOption) *Undoing {
	u := &undo{name: name, fn: undoing(fn, in), at: engine.Caller(0)}
	if all := localOf(ctx); all != nil { // else a foreign goroutine: the run is blocked for it
		if err := u.check(opts); err != nil {
			halt(fmt.Errorf("undo %q: %w", name, err))
		}
		all.add(u)
	}
	return &Undoing{ctx: ctx, u: u}
}

// Run takes the undo function off the stack, from any position, and runs it: see [UndoAll]. Called
// again, or after UndoAll, it returns the same result. If the function was dropped, Run returns
// nil.
func (u *Undoing) Run(ctx Context) error {
	if u == nil || u.u == nil {
		return kit.Missing("the undo")
	}
	_, err := undoNow(ctx, func(of *undo) bool { return of == u.u })
	if err != nil {
		return err
	}
	return u.u.err
}

// Drop takes the undo function off the stack without running it, if it is still there.
func (u *Undoing) Drop() {
	if u == nil || u.u == nil {
		halt(kit.Missing("the undo"))
	}
	if all := localOf(u.ctx); all != nil {
		all.take(u.u)
	}
}

// UndoAll takes all undo functions off the run's stack and runs them, last first. It returns when
// they have ended: nil, or the [*UndoError] of each that failed for good, joined. Then the run goes
// on.
//
//	return Result{Outcome: "refused"}, stepwell.UndoAll(ctx)
//
// They run as at the run's end: see [Undo]. A cancel does not reach them; code sees it after
// UndoAll. Other operations of the run go on, except steps that still run and are to be undone:
// their contexts end, and UndoAll waits for them. If another coroutine is in UndoAll or
// [Undoing.Run], UndoAll waits for it first.
//
// [App.Retry] and [App.Fork] take over the undo functions that completed, as they take over steps.
// So App.Retry cannot run a step again that failed before such an undo function completed.
func UndoAll(ctx Context) error {
	all := localOf(ctx)
	if all == nil {
		return ctx.x.Refusal()
	}
	before := all.added
	failed, err := undoNow(ctx, func(u *undo) bool { return u.n <= before })
	return errors.Join(append(failed, err)...)
}

// DropUndo takes all undo functions off the run's stack without running them. [Undoing.Drop] drops
// a single one. [ContinueAsNew] needs an empty stack.
func DropUndo(ctx Context) {
	if all := localOf(ctx); all != nil {
		clear(all.undos)
		all.undos = all.undos[:0]
	}
}

// UndoError means that an undo function failed for good: the step's effect remains.
type UndoError struct {
	Undo string // name of the undo function
	Err  error  // a [*StepError]
}

func (e *UndoError) Error() string { return fmt.Sprintf("undo %q failed: %v", e.Undo, e.Err) }

// Unwrap returns Err.
func (e *UndoError) Unwrap() error { return e.Err }

// undo is an undo function on the stack.
type undo struct {
	name   string
	fn     func(context.Context) error
	of     *replay.Future // the step that it takes back; nil: fn knows
	at     uintptr        // where it was asked for: see [engine.Caller]
	policy engine.Policy
	n      int   // of all that the run has put on its stack
	err    error // what it came to
}

// undoing is a function with its argument, as the body of a step; nil: there is no function.
func undoing[In any](fn func(context.Context, In) error, in In) func(context.Context) error {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context) error {
		err := fn(ctx, in)
		if err != nil {
			engine.FailedIn(ctx, fn)
		}
		return err
	}
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

// undoes puts the undo functions of a step that was asked for on the stack.
func undoes(ctx Context, u *engine.Undo, f *replay.Future) {
	if u == nil || f.Op() == nil {
		return // it was not asked for, as where the run is cancelled
	}
	all := localOf(ctx)
	for ; all != nil && u != nil; u = u.Next {
		all.add(&undo{name: u.Name, fn: u.Run, of: f, at: u.At, policy: u.Policy})
	}
}

func (l *local) add(u *undo) {
	l.added++
	u.n = l.added
	l.undos = append(l.undos, u)
}

// take takes one off the stack, if it is there.
func (l *local) take(u *undo) {
	l.undos = slices.DeleteFunc(l.undos, func(of *undo) bool { return of == u })
}

// last is the last one on the stack of those that are meant, or nil.
func (l *local) last(meant func(*undo) bool) *undo {
	for _, u := range slices.Backward(l.undos) {
		if meant(u) {
			return u
		}
	}
	return nil
}

// undo runs those that are meant, the last one first, in a coroutine of that name, so that their steps are told from
// others by its path; after those that run already. Each is on the stack until it has ended. It returns those that
// failed; the error is that nothing could be asked for.
func (l *local) undo(ctx Context, path string, meant func(*undo) bool) (failed []error, err error) {
	before := l.undoing
	l.undoing = ctx.x.Uncancelled().Go(path, func(x *replay.Ctx, _ *replay.Future) error {
		if before != nil {
			x.Wait(before)
		}
		for u := l.last(meant); u != nil; u = l.last(meant) {
			if err := u.run(Context{x.From(u.at), ctx.env}); err != nil {
				u.err = &UndoError{Undo: u.name, Err: err}
				failed = append(failed, u.err)
			}
			l.take(u)
		}
		return nil
	})
	f := l.undoing
	if !ctx.x.Wait(f) {
		return nil, ctx.x.Refusal()
	}
	return failed, f.Err()
}

// undoNow runs those that are meant while the run goes on.
func undoNow(ctx Context, meant func(*undo) bool) (failed []error, err error) {
	all := localOf(ctx)
	if all == nil {
		return nil, ctx.x.Refusal()
	}
	return all.undo(ctx, world.UndoNowPath, meant)
}

// compensate runs the undo functions of a run that does not complete. It returns the run's error.
func compensate(ctx Context, err error) error {
	all := localOf(ctx)
	if all == nil || all.undos == nil || err == nil && !ctx.x.Cancelled() && !replay.CancelComes(ctx.x) {
		return err
	}
	ctx.x.Settle()
	failed, _ := all.undo(ctx, world.UndoPath, func(*undo) bool { return true })
	if len(failed) == 0 {
		return err
	}
	return errors.Join(append([]error{err}, failed...)...)
}

// run runs it as a step.
func (u *undo) run(ctx Context) error {
	var of *engine.StepInfo
	if u.of != nil {
		if of = stepOf(ctx, u.of); of.Attempt == 0 {
			return nil // it had not begun
		}
	}
	body := func(ctx context.Context) (struct{}, error) { return struct{}{}, u.fn(ctx) }
	c, f, err := askStep(ctx, u.name, body, []StepOption{policyOption(u.policy)})
	if err != nil {
		return err
	}
	c.spec.Undoes, c.spec.Asked = of, u.at
	if !ctx.x.Wait(f) {
		return ctx.x.Refusal()
	}
	_, err = c.back.result(ctx, f)
	return err
}

// stepOf is what an undo is told of a step, when that is over.
func stepOf(ctx Context, f *replay.Future) *engine.StepInfo {
	ctx.x.CancelFuture(f) // one that no cancel of the run reaches
	ctx.x.Wait(f)
	op := f.Op()
	attempt := op.Attempt()
	if err, ok := errors.AsType[*world.Error](f.Err()); f.Err() == nil || ok && err.Code != world.CodeCancelled && err.Code != world.CodeNotStarted {
		attempt = max(attempt, 1)
	}
	return &engine.StepInfo{Run: ctx.RunID(), Workflow: ctx.env.workflow, Step: op.ID, Name: op.Key.Name, Attempt: attempt, IdempotencyKey: op.ID}
}

// policyOption is a whole policy.
type policyOption engine.Policy

func (policyOption) stepOption() {}

func (o policyOption) stepDefinitionOption(p *engine.Policy) { *p = engine.Policy(o) }
