package stepwell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Step runs fn once, records its result, and returns the result. On replay it returns the recorded
// result without running fn. The log records the result under name; the same name again is the next
// occurrence.
//
// fn runs at least once. If the process dies before the result is recorded, fn runs again as the
// next attempt. So pass an idempotency key to systems that must not act twice: for a payment one
// that you make of the order's number, otherwise [StepInfo].IdempotencyKey. A failed fn is tried
// again as [Retry] says, with three attempts by default; then Step returns a [*StepError]. fn
// overrides that with [Fatal] and [RetryAfter].
//
// The result always makes the round trip through JSON, on the first run too.
func Step[T any](ctx Context, name string, fn func(ctx context.Context) (T, error), opts ...StepOption) (T, error) {
	c, f, err := askStep(ctx, name, fn, opts)
	if err == nil && !ctx.x.Wait(f) {
		err = ctx.x.Refusal()
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return c.back.result(ctx, f)
}

// Do is [Step] for a function without a result.
func Do(ctx Context, name string, fn func(ctx context.Context) error, opts ...StepOption) error {
	if fn == nil {
		_, err := Step[struct{}](ctx, name, nil, opts...)
		return err
	}
	_, err := Step(ctx, name, func(ctx context.Context) (struct{}, error) {
		err := fn(ctx)
		if err != nil {
			engine.FailedIn(ctx, fn)
		}
		return struct{}{}, err
	}, opts...)
	return err
}

// stepCall is a step that was asked for, in one piece.
type stepCall[T any] struct {
	spec  engine.StepSpec
	fn    func(ctx context.Context) (T, error)
	limit int
	back  landing[T]
}

// askStep asks for a step. The error is a bad option.
func askStep[T any](ctx Context, name string, fn func(ctx context.Context) (T, error), opts []StepOption) (*stepCall[T], *replay.Future, error) {
	c := &stepCall[T]{fn: fn, limit: ctx.env.most}
	if err := stepPolicy(&c.spec.Policy, opts); err != nil {
		return nil, nil, fmt.Errorf("step %q: %w", name, err)
	}
	if fn == nil {
		return nil, nil, fmt.Errorf("step %q: %w: no function", name, ErrInvalid)
	}
	c.spec.Policy.Tx = c.spec.Policy.Tx && ctx.env.overrides.Together()
	if c.spec.Policy.Tx { // nothing is kept apart in a transaction
		c.limit = ctx.env.limit
	}
	c.spec.Run = kit.Wrap[T](ctx.env.overrides, func(c2 context.Context, _ []byte) ([]byte, error) { return c.run(c2) })
	f := ctx.x.Step(world.KindClosure, name, nil, &c.spec)
	undoes(ctx, c.spec.Policy.Undo, f)
	return c, f, nil
}

func (c *stepCall[T]) run(ctx context.Context) ([]byte, error) {
	v, err := c.fn(ctx)
	if err != nil {
		engine.FailedIn(ctx, c.fn)
		return nil, err
	}
	return c.back.encode(v, c.limit)
}

// landing is where the body of a step leaves its result, as it came out of the round trip, for the code that waits for
// it in the same process. What replays the log decodes its own.
type landing[T any] struct {
	out  T // what the body returned, while it is encoded
	kept atomic.Pointer[codec.Kept[T]]
}

// encode encodes what a body returned; what does not make the round trip fails the step at once, as a retry would not
// help.
func (l *landing[T]) encode(v T, limit int) ([]byte, error) {
	l.out = v
	b, k, err := codec.RoundTrip(&l.out, limit)
	var zero T
	if l.out = zero; err != nil {
		return nil, &engine.FatalError{Err: fmt.Errorf("result: %w", err)}
	}
	l.kept.Store(k)
	return b, nil
}

// result is that of a future that is done.
func (l *landing[T]) result(ctx Context, f *replay.Future) (T, error) {
	if f.Err() == nil {
		if k := l.kept.Swap(nil); k != nil && same(k.JSON, f.Payload()) {
			return k.Value, nil
		}
	}
	return recorded[T](ctx, f)
}

// RegisteredStep is a step that any worker with its definition can run, from its recorded input.
type RegisteredStep[In, Out any] struct {
	name   string
	fn     func(context.Context, In) (Out, error)
	remote bool
	policy engine.Policy
	limits limits       // of its definition
	own    []StepOption // of this call: see With
	fault  error
}

// DefineStep registers a function as a step that every worker can run. Its input is recorded, so it
// must encode as JSON. [New] reports faults of the definition.
func DefineStep[In, Out any](name string, fn func(ctx context.Context, in In) (Out, error), opts ...StepDefinitionOption) *RegisteredStep[In, Out] {
	s := &RegisteredStep[In, Out]{name: name, fn: fn}
	s.define(opts)
	if fn == nil {
		s.fault = errors.Join(s.fault, fmt.Errorf("%w: no function", ErrInvalid))
	}
	return s
}

func (s *RegisteredStep[In, Out]) define(opts []StepDefinitionOption) {
	s.limits = limitsOf(opts)
	s.fault = errors.Join(world.CheckName("step name", s.name), stepPolicy(&s.policy, opts))
	s.fault = errors.Join(append([]error{s.fault}, s.limits.ofStep(s.name, reflect.TypeFor[In]())...)...)
}

// DefineRemoteStep declares a step that a program in another language runs: a step worker, which
// takes it from a server. See docs/workers.md. No Go worker runs it: the step waits in the
// queue for a step worker with its name. The options are those of [DefineStep], except
// [Transactional] and [NonRetryable]: the step worker says which errors are final. Add the step to
// [Config].Definitions, so that its limits are known.
//
// In a test, stepwelltest.FakeStep gives it a function.
func DefineRemoteStep[In, Out any](name string, opts ...StepDefinitionOption) *RegisteredStep[In, Out] {
	s := &RegisteredStep[In, Out]{name: name, remote: true}
	s.fn = func(context.Context, In) (out Out, err error) { return out, &notHereError{name} }
	s.define(opts)
	s.fault = errors.Join(s.fault, remotely(&s.policy))
	return s
}

// remotely refuses what a step of another program cannot have.
func remotely(p *engine.Policy) error {
	switch {
	case p.Tx:
		return fmt.Errorf("%w: Transactional: a remote step is not done beside the database", ErrInvalid)
	case p.Final != nil:
		return fmt.Errorf("%w: NonRetryable: the errors of a remote step have no Go type; its worker says which are final", ErrInvalid)
	}
	return nil
}

// notHereError is what a remote step comes to where its body in Go is asked for: in a test that gives it none.
type notHereError struct{ name string }

func (e *notHereError) Error() string {
	return fmt.Sprintf("step %q is remote, and has no function in Go; in a test, give it one with stepwelltest.FakeStep", e.name)
}

// Permanent says that a retry would not help.
func (*notHereError) Permanent() bool { return true }

// Name returns the step's name.
func (s *RegisteredStep[In, Out]) Name() string { return s.name }

// Alone returns a workflow of the same name that runs only this step. Its runs can be started with
// a key, retried, listed and cancelled as any run.
//
//	run, err := Resize.Alone().Start(ctx, app, picture, stepwell.Key(picture.ID))
//
// Workers have Resize.Alone() in their [Config].Definitions, which includes the step itself. The
// name must be valid for a workflow: see [Define].
func (s *RegisteredStep[In, Out]) Alone(opts ...WorkflowOption) *Workflow[In, Out] {
	if s == nil {
		return nil
	}
	w := Define(s.name, s.Run, opts...)
	w.of, w.source = s, s.source()
	return w
}

func (s *RegisteredStep[In, Out]) register(r *registrar) {
	r.seen = append(r.seen, s)
	if s.fault != nil {
		r.faults = append(r.faults, fmt.Errorf("step %q: %w", s.name, s.fault))
	}
	limit, policy := r.cfg.MaxValue, s.policy
	policy.Tx = policy.Tx && r.cfg.overrides.Together()
	if policy.Tx {
		limit = r.cfg.MaxPayload
	}
	r.steps = append(r.steps, &engine.Step{
		Name: s.name, Remote: s.isRemote(&r.cfg.overrides), Policy: policy, Check: s.check, Limits: s.limits.said(), Source: s.source(),
		Run: kit.Wrap[Out](&r.cfg.overrides, func(ctx context.Context, input []byte) ([]byte, error) {
			return s.call(ctx, input, limit, new(landing[Out]))
		}),
	})
}

// source is where its function begins; "": it has none here.
func (s *RegisteredStep[In, Out]) source() string {
	if s.remote {
		return ""
	}
	return engine.Source(s.fn)
}

// isRemote reports whether another program runs it: a test runs it itself.
func (s *RegisteredStep[In, Out]) isRemote(in *kit.Overrides) bool { return s.remote && in.Body == nil }

func (s *RegisteredStep[In, Out]) check(input []byte) error { return codec.Fits(input, new(In)) }

func (s *RegisteredStep[In, Out]) call(ctx context.Context, input []byte, limit int, to *landing[Out]) ([]byte, error) {
	var in In
	if err := codec.Decode(input, &in); err != nil {
		return nil, &engine.FatalError{Err: fmt.Errorf("step %q: the recorded input does not fit: %w", s.name, err)}
	}
	out, err := s.fn(ctx, in)
	if err != nil {
		if !s.remote {
			engine.FailedIn(ctx, s.fn)
		}
		return nil, err
	}
	return to.encode(out, limit)
}

// Run requests the step and waits for its result: see [Step]. It is a suitable function for [Map]:
//
//	thumbs, err := stepwell.Map(ctx, pictures, 4, Resize.Run)
func (s *RegisteredStep[In, Out]) Run(ctx Context, in In) (Out, error) {
	return s.start(ctx, in, nil, 0).Get(ctx)
}

// With returns the step with other options, for calls through the returned value:
//
//	thumb, err := Resize.With(stepwell.Retry{Attempts: 10}).Run(ctx, picture)
func (s *RegisteredStep[In, Out]) With(opts ...StepOption) *RegisteredStep[In, Out] {
	if s == nil {
		return nil
	}
	c := *s
	c.own = append(slices.Clip(c.own), opts...)
	return &c
}

// Start requests the step and returns at once; the future has the result. Steps that are requested
// together run in this worker as long as it has free step slots. The others are queued for all
// workers, and so is each step with a [Limit] and each of [DefineRemoteStep].
func (s *RegisteredStep[In, Out]) Start(ctx Context, in In, opts ...StepOption) *Future[Out] {
	return s.start(ctx, in, opts, engine.Caller(0))
}

func (s *RegisteredStep[In, Out]) start(ctx Context, in In, opts []StepOption, asked uintptr) *Future[Out] {
	if s == nil {
		return failedFuture[Out](kit.Missing("the registered step"))
	}
	opts = append(slices.Clip(s.own), opts...)
	spec := &engine.StepSpec{Task: true, Remote: s.isRemote(ctx.env.overrides), Check: s.check, Policy: s.policy, Asked: asked}
	if !s.remote {
		spec.Source = s.fn
	}
	if len(s.limits) > 0 {
		spec.Places = s.limits.places
	}
	err := s.fault
	if err == nil {
		err = stepPolicy(&spec.Policy, opts)
	}
	if s.remote {
		err = errors.Join(err, remotely(&spec.Policy))
	}
	spec.Policy.Tx = spec.Policy.Tx && ctx.env.overrides.Together()
	if err == nil && len(opts) > 0 {
		spec.Override, err = json.Marshal(spec.Policy)
	}
	if err != nil {
		return failedFuture[Out](fmt.Errorf("step %q: %w", s.name, err))
	}
	input, err := outgoing(ctx, &in, ctx.x.MaxValue(), world.KindTask, s.name)
	if err != nil {
		return failedFuture[Out](fmt.Errorf("step %q: input: %w", s.name, err))
	}
	limit, back := ctx.env.most, new(landing[Out])
	if spec.Policy.Tx {
		limit = ctx.env.limit
	}
	spec.Run = kit.Wrap[Out](ctx.env.overrides, func(c context.Context, recorded []byte) ([]byte, error) {
		return s.call(c, recorded, limit, back)
	})
	f := ctx.x.Step(world.KindTask, s.name, input, spec)
	undoes(ctx, spec.Policy.Undo, f)
	return &Future[Out]{f: f, get: func(ctx Context) (Out, error) { return back.result(ctx, f) }}
}

// StepOption is an option of a step: [Retry], [Timeout], [HeartbeatTimeout], [QueueTimeout],
// [NonRetryable], [Transactional], [Undo].
type StepOption interface {
	StepDefinitionOption
	stepOption()
}

// StepDefinitionOption is an option of [DefineStep], for all calls of the step: a [Limit], or any
// [StepOption].
type StepDefinitionOption interface{ stepDefinitionOption(*engine.Policy) }

func stepPolicy[O StepDefinitionOption](p *engine.Policy, opts []O) error {
	if err := kit.Given(opts, func(o O) { o.stepDefinitionOption(p) }); err != nil {
		return err
	}
	return p.Validate()
}

// Backoff is how the delays between attempts grow.
type Backoff string

// Kinds of backoff.
const (
	Fixed Backoff = "fixed" // always Base
	// Base, 2 × Base, 3 × Base…
	Linear Backoff = "linear"
	// Base, 2 × Base, 4 × Base…
	Exponential Backoff = "exponential"
)

// Unlimited, as [Retry].Attempts, means no limit.
const Unlimited = -1

// Retry says how often, and after which delays, a failed step is tried again. Zero fields mean the
// defaults.
type Retry struct {
	Attempts int           // in all, with the first; default 3; or [Unlimited]
	Backoff  Backoff       // default [Exponential]
	Base     time.Duration // the first delay; default 1 s
	Cap      time.Duration // the longest delay; default 60 s, or Base if that is longer
	// Jitter is the random share by which each delay is shortened, 0 to 1. Default 0.2; below 0:
	// none.
	Jitter float64
	// Total is time from the first attempt; no attempt starts after it. Default: no limit.
	Total time.Duration
}

type nonRetryable struct{ is func(error) bool }

// NonRetryable makes errors of a type final for a step. It matches any error in the chain that the
// body returns, also in joined errors.
func NonRetryable[T error]() StepOption {
	return nonRetryable{func(err error) bool {
		_, ok := codec.As[T](err)
		return ok
	}}
}

func (nonRetryable) stepOption() {}

func (n nonRetryable) stepDefinitionOption(p *engine.Policy) {
	before := p.Final
	p.Final = func(err error) bool { return n.is(err) || before != nil && before(err) }
}

func (Retry) stepOption() {}

func (r Retry) stepDefinitionOption(p *engine.Policy) {
	p.Attempts, p.Backoff, p.Base, p.Cap, p.Jitter, p.Total = r.Attempts, engine.Backoff(r.Backoff), r.Base, r.Cap, r.Jitter, r.Total
}

// TimeoutOption is the result of [Timeout]: an option of steps, waits, workflows, starts and
// children.
type TimeoutOption interface {
	StepOption
	WaitOption
	WorkflowOption
	BirthOption
}

type timeoutOption time.Duration

// Timeout limits one attempt of a step, or a wait for an event, a hook or a condition. The context
// of an attempt ends with cause [ErrTimeout]. An error that the body then returns is tried again,
// if attempts are left. A value that the body returns still counts, because the work is done.
//
// As an option of a workflow, a start or a child, it limits the whole run, from when it begins,
// over all its segments. [Forever] means no limit. When the time is over the run is cancelled (see
// [CancelCause]), its code cleans up, and the run fails with code TIMEOUT and an error that matches
// [ErrTimeout].
func Timeout(d time.Duration) TimeoutOption { return timeoutOption(d) }

func (timeoutOption) stepOption() {}

func (t timeoutOption) stepDefinitionOption(p *engine.Policy) {
	if p.Timeout = time.Duration(t); t == 0 {
		p.Fault = nothing("timeout")
	}
}

// nothing refuses a timeout of 0, which is a mistake.
func nothing(what string) error { return fmt.Errorf("%w: %s 0s: want more than 0", ErrInvalid, what) }

// stepError makes the author's error of a recorded one.
func stepError(ctx Context, f *replay.Future) error {
	err := f.Err()
	if errors.Is(err, replay.ErrCancelled) {
		return ErrCancelled
	}
	var rec *world.Error
	if !errors.As(err, &rec) {
		return err
	}
	key, _ := f.Key()
	of := *rec
	if op := f.Op(); op != nil {
		of.Step = op.ID // so the run's end says of which failure it came
	}
	return &StepError{
		Step: key.Name, Message: rec.Message, Code: rec.Code, Where: rec.Where, Stack: rec.Stack, Permanent: rec.Permanent,
		record: rec, err: codec.ToError(&of, ctx.env.errors),
	}
}
