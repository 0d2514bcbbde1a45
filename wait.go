package stepwell

// Waits: for time and for conditions, and what these have in common with waits for events and at hooks.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// Sleep pauses the workflow for at least d: durably, for months if need be, and holding nothing meanwhile. Zero and less is over
// at once. The error is [ErrCancelled] when the run is cancelled, or [ErrInvalid] for a bad name.
func Sleep(ctx Context, name string, d time.Duration) error {
	return waitFor(ctx, ctx.x.Sleep(name, d))
}

// SleepUntil pauses the workflow until t. A time in the past is due at once. Errors as in [Sleep], and [ErrInvalid] for a time that is not in the years 1 to
// 9999 (UTC).
func SleepUntil(ctx Context, name string, t time.Time) error {
	if now := ctx.Now(); t.Before(now) && world.CheckTime("until", t) == nil {
		t = now // the zero time in a log means "never"
	}
	return waitFor(ctx, ctx.x.SleepUntil(name, t))
}

func waitFor(ctx Context, f *replay.Future) error {
	if !ctx.x.Wait(f) {
		return ctx.x.Refusal()
	}
	if errors.Is(f.Err(), replay.ErrCancelled) {
		return ErrCancelled
	}
	if taken, ok := f.Err().(*replay.ConflictError); ok {
		return (*HookConflictError)(taken)
	}
	return f.Err()
}

// WaitOption changes a wait for an event, at a hook, or for a condition: [Timeout], [Remind].
type WaitOption interface {
	EventOption
	waitOption()
}

// waitOptions are those of all waits.
type waitOptions struct {
	timeout time.Duration
	timed   bool
	remind  *remindOption // nil: nobody is reminded

	match   Match           // of an event, as all that follows
	matches json.RawMessage // match as JSON
	tell    bool            // of payloads that do not fit
	listen  *replay.Listening
}

func (o *waitOptions) check() error {
	if o.timed && o.timeout < 0 {
		return fmt.Errorf("%w: timeout %s: must not be negative", ErrInvalid, o.timeout)
	}
	if r := o.remind; r != nil && r.every <= 0 {
		return fmt.Errorf("%w: remind each %s: must be above zero", ErrInvalid, r.every)
	} else if r != nil && r.fn == nil {
		return kit.Missing("remind: the function")
	}
	return nil
}

func (timeoutOption) waitOption() {}

func (t timeoutOption) eventOption(o *waitOptions) { o.timeout, o.timed = time.Duration(t), true }

type remindOption struct {
	every time.Duration
	fn    func(ctx Context) error
}

// Remind lets a wait call fn when it has lasted for d, and again d after each time that fn has returned, until what is
// waited for comes, or its [Timeout] is over. fn is code of the workflow, in the place of the wait: its steps are
// recorded as any. What comes while fn runs is taken when it has returned. An error of fn ends the wait with that
// error, and what comes later is kept for the next wait.
//
//	d, ok, err := Approval.Wait(ctx, stepwell.Timeout(72*time.Hour), stepwell.Remind(24*time.Hour, func(ctx stepwell.Context) error {
//		return stepwell.Exec(ctx, "remind", mailTheBoss, order)
//	}))
//
// It has one deadline and, for each round, a timer in the log. Where [Remind] is new in code that runs were started
// with, those that wait there take it up when they go on next; those that have gone on behind the wait do not have its
// timer in their log, and so need [Patched].
func Remind(d time.Duration, fn func(ctx Context) error) WaitOption { return remindOption{d, fn} }

func (remindOption) waitOption() {}

func (r remindOption) eventOption(o *waitOptions) { o.remind = &r }

// reminder is what a wait that began just now reminds with; nil: nothing.
func (o *waitOptions) reminder(ctx Context, name string) *replay.Reminder {
	if o.remind == nil {
		return nil
	}
	r := &replay.Reminder{Name: journal.Reminder(name), Every: o.remind.every, Do: func() error { return o.remind.fn(ctx) }}
	if o.timed {
		r.Until = ctx.Now().Add(o.timeout)
	}
	return r
}

// waited waits for what was asked for just now, which has a name.
func waited[T any](ctx Context, f *Future[Received[T]], o *waitOptions, name string) (payload T, ok bool, err error) {
	if r := o.reminder(ctx, name); r != nil {
		if err := ctx.x.WaitReminding(f.f, r); err != nil {
			return payload, false, err
		}
	}
	r, err := f.Get(ctx)
	return r.Payload, r.OK, err
}

// begun is waited as a future of what start asks for.
func begun[T any](ctx Context, o *waitOptions, name string, start func(ctx Context) *Future[Received[T]]) *Future[Received[T]] {
	if o.remind == nil {
		return start(ctx)
	}
	return Go(ctx, func(ctx Context) (r Received[T], err error) {
		r.Payload, r.OK, err = waited(ctx, start(ctx), o, name)
		return r, err
	})
}

// Await waits until cond, a condition of the workflow's own variables, holds. ok is false where its [Timeout] passed
// first; where both come true at once, the condition wins. A condition that holds already writes nothing, and with a
// timeout of zero or less it is looked at once. It is looked at after each event of the run: it must be quick, and ask
// for nothing. With [Remind] the code does something each so often, until the wait is over.
//
// The error is [ErrCancelled] when the run is cancelled.
func Await(ctx Context, cond func() bool, opts ...WaitOption) (ok bool, err error) {
	if cond == nil {
		return false, kit.Missing("await: the condition")
	}
	var o waitOptions
	err = kit.Given(opts, func(opt WaitOption) { opt.eventOption(&o) })
	o.timeout = max(o.timeout, 0)
	if err = cmp.Or(err, o.check()); err != nil {
		return false, fmt.Errorf("await: %w", err)
	}
	if o.timed && o.timeout == 0 {
		return cond(), nil
	}
	ok, err = ctx.x.Await("await", cond, o.timeout, o.reminder(ctx, "condition"))
	if errors.Is(err, replay.ErrCancelled) {
		return false, ErrCancelled
	}
	return ok, err
}
