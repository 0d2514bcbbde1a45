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

// Undo puts what undoes a step on the run's stack of undo functions when the step is asked for. A run that fails or is
// cancelled takes them off and runs them, the last one first, one after another; then it ends. [UndoAll] does that at
// once, and the run goes on; [DropUndo] takes them off and runs none.
//
//	err := stepwell.Exec(ctx, "reserve", stock.Reserve, order, stepwell.Undo("release", stock.Release, order))
//
// It covers a step that may have had an effect although it failed: its time was up, its process died, its answer was
// lost. So fn runs whether the step completed, failed, or was cancelled, if an attempt of it has begun, and must do no
// harm where there is nothing to take back. By [Info] it has the step in Undoes, with the idempotency key that every
// attempt had, and in Attempt how many have begun, at least. Where fn needs what the step returned, use [AddUndo].
//
// An undo is a step: its name is recorded, fn runs at least once with in, [Info] has its idempotency key. fn and in are
// not recorded. No cancel reaches it. One that fails is tried again without limit, up to a minute apart, unless a
// [Retry] among opts has Attempts, or it returns [Fatal]; if it fails for good the others run all the same, and the
// run's error has both: what the function returned, and an [*UndoError].
//
// At the run's end all else that the workflow's function left behind is cancelled before the first undo, and steps that
// still run are waited for, as they may finish yet and add theirs: see [Config].CancelGrace. What is never undone: a run
// that completes, that is cancelled by force, or while it is blocked, or by a worker that does not have its code.
//
// In a [App.Fork] and a [App.Retry] steps have other keys than in the run that they were made of: where these take a
// step over, an undo that goes by a key needs one of yours, as the order's number.
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

// AddUndo puts an undo function on the run's stack now, with what your code knows by now: what [Undo] does, for what
// needs the result of the step that it undoes. Call it directly behind that step.
//
//	receipt, err := stepwell.Call(ctx, "charge", bank.Charge, order)
//	if err != nil {
//		return err
//	}
//	stepwell.AddUndo(ctx, "refund", bank.Refund, receipt)
//
// It writes nothing, and may be called where the run is cancelled already. A bad name or option blocks the run.
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

// Run takes the undo function off the stack and runs it, as [UndoAll] does for all: also where it is not the last one.
// Called again, or behind UndoAll, it returns what that came to; of one that was dropped, nil.
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

// Drop takes the undo function off the stack without running it, if it is still there: what it would undo is to stay.
func (u *Undoing) Drop() {
	if u == nil || u.u == nil {
		halt(kit.Missing("the undo"))
	}
	if all := localOf(u.ctx); all != nil {
		all.take(u.u)
	}
}

// UndoAll takes the undo functions that are on the run's stack off it and runs them, the last one first, and returns
// when they have ended: nil, or an [*UndoError] of each that failed for good, joined. Then the run goes on.
//
//	return Result{Outcome: "refused"}, stepwell.UndoAll(ctx)
//
// They run as at the run's end: see [Undo]. A cancel does not reach them, and one that comes meanwhile is seen behind
// UndoAll. What else goes on in the run is left alone, but for a step that still runs and is to be undone: its context
// ends, and it is waited for. Where another coroutine is in UndoAll or [Undoing.Run], it waits for that first. For an
// [App.Retry], and for a fork, they are steps as any.
func UndoAll(ctx Context) error {
	all := localOf(ctx)
	if all == nil {
		return ctx.x.Refusal()
	}
	before := all.added
	failed, err := undoNow(ctx, func(u *undo) bool { return u.n <= before })
	return errors.Join(append(failed, err)...)
}

// DropUndo takes all undo functions off the run's stack without running them: what they would undo is to stay, whatever
// comes. [Undoing.Drop] is for one of them. [ContinueAsNew] needs it where some are on the stack.
func DropUndo(ctx Context) {
	if all := localOf(ctx); all != nil {
		clear(all.undos)
		all.undos = all.undos[:0]
	}
}

// UndoError says that an undo function failed for good: what it was to undo is still done.
type UndoError struct {
	Undo string // its name
	Err  error  // a [*StepError]
}

func (e *UndoError) Error() string { return fmt.Sprintf("undo %q failed: %v", e.Undo, e.Err) }

// Unwrap returns how its step failed.
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
