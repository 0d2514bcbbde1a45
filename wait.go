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

// Sleep pauses the workflow for at least d, durably, for months if need be. Meanwhile the run takes
// no slot. If d is zero or less, Sleep returns at once. The error is [ErrCancelled] if the run is
// cancelled, or [ErrInvalid] for a bad name.
func Sleep(ctx Context, name string, d time.Duration) error {
	return waitFor(ctx, ctx.x.Sleep(name, d))
}

// SleepUntil pauses the workflow until t. It returns at once if t is in the past. The errors are
// those of [Sleep], and [ErrInvalid] for a time outside the years 1 to 9999 (UTC).
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

// WaitOption is an option of a wait for an event, a hook or a condition: [Timeout], [Remind].
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

// Remind makes a wait call fn after d, and again d after each return of fn, until the wait ends. fn
// is workflow code, and runs instead of the wait: its steps are recorded as usual. Payloads that
// arrive while fn runs are taken when it has returned. An error of fn ends the wait with that
// error; later payloads are kept for the next wait.
//
//	d, ok, err := Approval.Wait(ctx, stepwell.Timeout(72*time.Hour), stepwell.Remind(24*time.Hour, func(ctx stepwell.Context) error {
//		return stepwell.Exec(ctx, "remind", mailTheBoss, order)
//	}))
//
// Each call adds a timer to the log. If you add Remind to code with live runs, runs that are in the
// wait use it when they next continue. Runs that have passed the wait have no such timer in their
// logs, so guard the change with [Patched].
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

// Await waits until cond holds, a condition on the workflow's own variables. ok is false if the
// [Timeout] passes first; if both happen at once, the condition wins. If cond holds already,
// nothing is recorded. With a timeout of zero or less cond is checked once. cond is called after
// each event of the run: it must be quick, and must not call operations. [Remind] calls a function
// at intervals until the wait ends.
//
// The error is [ErrCancelled] if the run is cancelled.
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
