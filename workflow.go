package stepwell

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Definition is an element of [Config].Definitions: a [Workflow], a [RegisteredStep], or a
// [KnownError].
type Definition interface {
	register(r *registrar)
}

// registrar collects what an App can run.
type registrar struct {
	cfg       *Config
	book      *engine.Book
	errors    codec.Registry
	values    world.Values
	workflows []*engine.Workflow
	known     workflows // the same, whole when all are registered
	steps     []*engine.Step
	seen      []Definition // registered steps
	alone     []Definition // steps that workflows of their own stand for
	parts     []kit.Part   // what the App does beside runs and steps
	faults    []error
}

// Workflow is a function with a name, a version, and the types of its input and output.
type Workflow[In, Out any] struct {
	name      string
	version   int
	retention time.Duration
	timeout   time.Duration
	startTTL  time.Duration
	keep      int // segments
	failOn    []string
	accepts   accepted
	fn        func(Context, In) (Out, error)
	declared  bool       // by its name: the code is elsewhere
	of        Definition // a step whose run this is, or nil
	source    string     // of its code; "": that of fn
	faults    []error

	attributes map[string]json.RawMessage // what its runs start with
	limits     limits
	gather     *gathering // nil: each start has a run
}

// WorkflowOption is an option of [Define].
type WorkflowOption interface{ workflowOption(*workflowOptions) }

type workflowOptions struct {
	version   int
	retention time.Duration
	timeout   time.Duration
	startTTL  time.Duration
	keep      int
	failOn    []string // nil: as Config says
	accepts   accepted
	faults    []error

	attributes map[string]json.RawMessage
	limits     limits
	gather     *gathering
}

// versionOption fits definitions, continuations, starts and children.
type versionOption int

// Version sets the version of a workflow's code, from 1. As an option of [Define] it names the
// version of that definition; the default is 1. An App can have several versions of one workflow. A
// run keeps the version that it was started with.
//
// As an option of a start or a child, Version chooses the version of the new run. Without it, or
// with 0:
//
//   - A start or a child through a definition gets the version of that definition.
//   - A start by name, and a start or a child through [Declare], gets the highest version that a
//     live worker has. If no live worker has the workflow, the first worker that claims the run
//     decides: the run gets the highest version of that worker.
//
// As an option of [ContinueAsNew] it chooses the version of the new segment.
func Version(n int) interface {
	RunOption
	ContinueOption
} {
	return versionOption(n)
}

func (v versionOption) continueOption(o *continueOptions) { o.version = int(v) }

func (v versionOption) startOption(o *startOptions) { o.Version = int(v) }

func (v versionOption) childOption(o *childOptions) { o.Version = int(v) }

func (v versionOption) workflowOption(o *workflowOptions) {
	if v < 1 || v > world.MaxVersion {
		o.faults = append(o.faults, fmt.Errorf("%w: version %d: want 1 to %d", ErrInvalid, int(v), world.MaxVersion))
	}
	o.version = int(v)
}

// retentionOption fits workflows, starts and children.
type retentionOption time.Duration

// Retention sets how long runs are kept after their end; the default is 30 days. [Forever] keeps
// them for ever. That of a workflow applies to all starts: workers tell the database when they
// join. A longer Retention is lowered to [Config].MaxRetention, 365 days by default.
// [Config].Logger reports that: for a workflow in [New], for a start when it is made.
// [Run.Retention] and [App.Get] return the actual value.
func Retention(d time.Duration) RunOption { return retentionOption(d) }

// Forever is the [Retention] of runs that are never deleted. It takes effect only if the database's
// limit is Forever too: see [Config].MaxRetention.
const Forever = time.Duration(-1)

func (d retentionOption) workflowOption(o *workflowOptions) {
	if d < 0 && time.Duration(d) != Forever {
		o.faults = append(o.faults, fmt.Errorf("%w: retention %s: must not be negative", ErrInvalid, time.Duration(d)))
	}
	o.retention = time.Duration(d)
}

// Define registers a function as a workflow. Its name has 1 to 128 letters, digits, '_', '.' and
// '-'. Logs record the name: a renamed workflow is another workflow. [New] reports faults of the
// definition.
//
// The function must be deterministic: see the package comment.
func Define[In, Out any](name string, fn func(ctx Context, in In) (Out, error), opts ...WorkflowOption) *Workflow[In, Out] {
	o := workflowOptions{version: 1}
	if err := kit.Given(opts, func(opt WorkflowOption) { opt.workflowOption(&o) }); err != nil {
		o.faults = append(o.faults, err)
	}
	w := &Workflow[In, Out]{name: name, version: o.version, retention: o.retention, timeout: o.timeout, startTTL: o.startTTL, attributes: o.attributes, keep: o.keep, failOn: o.failOn, accepts: o.accepts, fn: fn, faults: o.faults, limits: o.limits, gather: o.gather}
	w.faults = append(w.faults, w.limits.named(name, reflect.TypeFor[In]())...)
	if err := w.gather.fault(reflect.TypeFor[In](), w.limits); err != nil {
		w.faults = append(w.faults, err)
	}
	if err := world.CheckWorkflowName(name); err != nil {
		w.faults = append(w.faults, err)
	}
	if fn == nil {
		w.faults = append(w.faults, fmt.Errorf("%w: no function", ErrInvalid))
	}
	return w
}

// Declare names a workflow, with its types, whose code is elsewhere: in another program, or in this
// one, so that two workflows can call each other without an init function:
//
//	var pong = stepwell.Declare[int, string]("pong")
//
//	var Ping = stepwell.Define("ping", func(ctx stepwell.Context, n int) (string, error) { return pong.Child().Run(ctx, n-1) })
//	var Pong = stepwell.Define("pong", func(ctx stepwell.Context, n int) (string, error) { return Ping.Child().Run(ctx, n-1) })
//
// The result starts runs and children. It is not a definition: [New] refuses it in
// [Config].Definitions. Its starts get the version, retention, timeout, attributes and limits of a
// start by name: see [Version]. If a limit's key can only be computed by the workflow's code, a
// child fails with [ErrInvalid].
func Declare[In, Out any](name string) *Workflow[In, Out] {
	w := &Workflow[In, Out]{name: name, declared: true}
	if err := world.CheckWorkflowName(name); err != nil {
		w.faults = append(w.faults, err)
	}
	return w
}

// Name returns the workflow's name.
func (w *Workflow[In, Out]) Name() string { return w.name }

func (w *Workflow[In, Out]) register(r *registrar) {
	for _, err := range w.faults {
		r.faults = append(r.faults, fmt.Errorf("workflow %q: %w", w.name, err))
	}
	if w.declared {
		r.faults = append(r.faults, fmt.Errorf("workflow %q: %w: Declare's result can only start runs; to run them here, use the definition that Define returned", w.name, ErrInvalid))
		return
	}
	if w.of != nil {
		r.alone = append(r.alone, w.of)
	}
	e := &env{workflow: w.name, limit: r.cfg.MaxPayload, most: r.cfg.MaxValue, values: r.values, maxRetention: r.cfg.MaxRetention, book: r.book, logger: r.cfg.words, errors: &r.errors}
	failOn := w.failOn
	if failOn == nil {
		failOn = r.cfg.FailOn
	}
	e.overrides, e.fits, e.known, e.base = &r.cfg.overrides, r.fits, r.known, strings.TrimRight(r.cfg.PublicURL, "/")
	r.workflows = append(r.workflows, &engine.Workflow{
		Name: w.name, Version: w.version, Retention: w.retention, Timeout: w.timeout, StartTTL: w.startTTL, KeepSegments: w.keep, FailOn: failOn, Attributes: w.attributes,
		Body: func(input []byte, apart string) replay.Body {
			return func(x *replay.Ctx) replay.Outcome { return w.run(x, e, input, apart) }
		},
		Check:  func(input []byte) error { return codec.Fits(input, new(In)) },
		Limits: w.limits.said(), Places: w.limits.places, Gather: w.gather.said(), GatherKey: w.gather.keyOf(),
		Source: cmp.Or(w.source, engine.Source(w.fn)),
		Schemas: sync.OnceValue(func() json.RawMessage {
			return describe(reflect.TypeFor[In](), reflect.TypeFor[Out](), &w.accepts)
		}),
	})
}

// run evaluates the function once, from its recorded input.
func (w *Workflow[In, Out]) run(x *replay.Ctx, e *env, input []byte, apart string) replay.Outcome {
	ctx := Context{x, e}
	var output []byte
	err := crashed(x, e.errors)
	if err == nil {
		if output, err = w.call(ctx, input, apart); crashed(x, e.errors) != nil { // beside it
			err = crashed(x, e.errors)
		}
	}
	if err = compensate(ctx, err); err == nil {
		return replay.Outcome{Output: output}
	}
	return replay.Outcome{Err: codec.FromError(err, e.errors)}
}

// call calls the function.
func (w *Workflow[In, Out]) call(ctx Context, input []byte, apart string) ([]byte, error) {
	var in In
	if err := codec.Decode(ctx.whole(input, apart), &in); err != nil {
		panic(engine.Block(world.CodeDecode, fmt.Errorf("workflow %s: the recorded input does not fit: %w", w.name, err)))
	}
	out, err := w.fn(ctx, in)
	if err != nil {
		return nil, codec.Finite(err, ctx.env.errors)
	}
	output, err := sent(&out, ctx.x.MaxValue())
	if err != nil {
		return nil, fmt.Errorf("workflow %s: output: %w", w.name, err)
	}
	return output, nil
}

// Start starts a run of the workflow. It returns once the run is durable. If app works (see
// [App.Run]) and has a free slot, the run begins in it at once.
//
// If a kept run has the [Key], Start returns that run, or its newest replacement if it did not
// complete and was retried: see [Run.Existed] and [App.Newest].
//
// Errors: [ErrInvalid] for bad options; [ErrRunExists] if the chosen ID belongs to a run without
// that Key; encoding errors of the input.
func (w *Workflow[In, Out]) Start(ctx context.Context, app *App, in In, opts ...StartOption) (*Run[Out], error) {
	switch {
	case w == nil:
		return nil, kit.Missing("start: the workflow")
	case app == nil:
		return nil, kit.Missing("start " + w.name + ": the App")
	}
	input, err := sent(&in, app.cfg.MaxValue)
	if raw, ok := any(&in).(*json.RawMessage); ok && err == nil { // it is nothing that Go encoded
		err = world.CheckJSON("it", *raw)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: input: %w", w.name, err)
	}
	o := startOptions{retention: w.retention, timeout: w.timeout, startTTL: w.startTTL, attributes: w.attributes}
	if err := kit.Given(opts, func(opt StartOption) { opt.startOption(&o) }); err != nil {
		return nil, fmt.Errorf("start %s: %w", w.name, err)
	}
	if o.Version == 0 {
		o.Version = w.version
	}
	if w.declared {
		if err := o.settle(ctx, app.book, app.known, w.name); err != nil {
			return nil, fmt.Errorf("start %s: %w", w.name, err)
		}
	}
	if !w.declared {
		o.places, o.gathers = w.limits.places, gathersHere(w.gather.said(), w.gather.keyOf())
	} else if o.gathers, err = gathersOf(ctx, app.book, app.known, world.Class{Workflow: w.name, Version: o.Version}); err != nil {
		return nil, fmt.Errorf("start %s: %w", w.name, err)
	}
	return startRun[Out](ctx, app, w.name, input, &o)
}

// Get returns a handle of an existing run of this workflow. It reads nothing.
func (w *Workflow[In, Out]) Get(app *App, id string) *Run[Out] { return &Run[Out]{app: app, id: id} }

// Run is a handle of one run, whose output has the type Out.
type Run[Out any] struct {
	app       *App
	id        string
	existed   bool
	merged    bool
	exactly   bool // retries do not count
	retention time.Duration
}

// ID returns the run's ID.
func (r *Run[Out]) ID() string { return r.id }

// Existed reports whether the run existed before this start: its idempotency key was used, it is a
// live [Singleton], or this start was merged into it (see [Run.Merged]).
func (r *Run[Out]) Existed() bool { return r.existed }

// Merged reports whether this start's input was merged into an existing run: see [Debounce] and
// [Batch].
func (r *Run[Out]) Merged() bool { return r.merged }

// Retention returns how long the run is kept after its end, if this call created the run:
// [Forever], or a time that [Config].MaxRetention may have lowered. A server may lower it further.
// It is 0 for an existing run. [App.Get] returns the actual value of any run.
func (r *Run[Out]) Retention() time.Duration { return r.retention }

// Exactly returns a handle whose Result does not follow to a retry of the run.
func (r *Run[Out]) Exactly() *Run[Out] {
	own := *r
	own.exactly = true
	return &own
}

// Result waits until the run is over and returns its output. If the run failed or was cancelled,
// the error is a [*RunError], which names the run. If ctx ends first, Result returns its error; the
// run continues.
//
// If the run was replaced, by [App.Retry] or a restart in place, Result is that of its newest
// replacement: see [App.Newest]. [Run.Exactly] gives the run's own.
//
// In a step's body, with the body's context, Result gives up the body's slot while it waits.
func (r *Run[Out]) Result(ctx context.Context) (Out, error) {
	var out Out
	if r == nil || r.app == nil {
		return out, kit.Missing("the run, or its App,")
	}
	row, err := r.app.wait(ctx, r.id)
	for err == nil && !r.exactly && row.Status != world.Completed {
		next, nextErr := successor(ctx, r.app, row.ID)
		if err = nextErr; next.ID == "" {
			break
		}
		row, err = r.app.wait(ctx, next.ID)
	}
	if err != nil {
		return out, err
	}
	return out, r.app.result(ctx, &row, &out)
}
