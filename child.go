package stepwell

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// ChildOption is an option of a child run: [RunID], [Key], [Delay], [Attributes], [Detached],
// [Retention], [StartTTL], [Timeout], [Priority], [Version].
type ChildOption interface{ childOption(*childOptions) }

// childOptions says how a child run starts. The zero value is an attached child with a new ID, and the version of
// the definition that starts it.
type childOptions struct {
	startOptions
	Detached bool
}

type detachedOption struct{}

// Detached lets a child run continue after its parent ends, or after its parent stops waiting for
// it (see [Race]). Without it, the child is cancelled then. A detached child is created even if the
// parent ends directly after asking for it.
func Detached() ChildOption { return detachedOption{} }

func (detachedOption) childOption(o *childOptions) { o.Detached = true }

// ChildCall starts child runs of a workflow: see [Workflow.Child].
type ChildCall[In, Out any] struct {
	w     *Workflow[In, Out]
	opts  childOptions
	fault error
}

// Child prepares a child run: a run of its own that this workflow starts and can wait for. A run
// that only waits for a child needs no slot, goroutine or connection.
func (w *Workflow[In, Out]) Child(opts ...ChildOption) *ChildCall[In, Out] {
	c := &ChildCall[In, Out]{w: w}
	c.fault = kit.Given(opts, func(o ChildOption) { o.childOption(&c.opts) })
	return c
}

// ChildRun is a requested child run. Its embedded [Future] has the result.
type ChildRun[Out any] struct {
	*Future[Out]
	id string
}

// ID returns the child's run ID, or "" if the request failed.
func (c *ChildRun[Out]) ID() string { return c.id }

// Run starts the child and waits for its result. If the child failed or was cancelled, the error is
// a [*StepError]. It matches [ErrRunExists] if the chosen ID is taken.
func (c *ChildCall[In, Out]) Run(ctx Context, in In) (Out, error) { return c.Start(ctx, in).Get(ctx) }

// Start requests the child and returns at once. If the parent ends directly afterwards, an attached
// child is not created, and the parent's log says so: see [world.Event.NotCreated].
func (c *ChildCall[In, Out]) Start(ctx Context, in In) *ChildRun[Out] {
	fail := func(err error) *ChildRun[Out] {
		return &ChildRun[Out]{Future: failedFuture[Out](fmt.Errorf("child run of %s: %w", c.w.name, err))}
	}
	if c == nil || c.w == nil {
		return &ChildRun[Out]{Future: failedFuture[Out](kit.Missing("child run: the workflow"))}
	}
	if c.fault != nil {
		return fail(c.fault)
	}
	o := c.opts.startOptions
	o.retention, o.timeout, o.startTTL, o.attributes = c.w.retention, c.w.timeout, c.w.startTTL, c.w.attributes
	if o.Version == 0 {
		o.Version = c.w.version
	}
	if err := o.check(); err != nil {
		return fail(err)
	}
	if len(c.w.faults) > 0 {
		return fail(c.w.faults[0])
	}
	if err := notGathered(c.w.gather.said()); err != nil {
		return fail(err)
	}
	input, err := outgoing(ctx, &in, ctx.x.MaxValue(), world.KindChild, c.w.name)
	if err != nil {
		return fail(fmt.Errorf("input: %w", err))
	}
	spec := &engine.ChildSpec{Birth: o.birth(c.w.name, ctx.env.maxRetention), Detached: c.opts.Detached, Delay: o.Delay}
	if spec.Birth.Attributes, err = o.allAttributes(); err != nil {
		return fail(err)
	}
	if c.w.declared {
		spec.Settle = func(base context.Context) (world.Birth, error) {
			return o.elsewhere(base, ctx.env, c.w.name, input)
		}
	} else if spec.Birth.Places, err = ofChild(c.w.limits.places(input)); err != nil {
		return fail(err)
	}
	if o.Retention != 0 {
		tellLowered(ctx.Logger().With("child", c.w.name), o.Retention, ctx.env.book.Most())
	}
	f := ctx.x.Other(world.KindChild, c.w.name, o.ID, input, spec)
	run := &ChildRun[Out]{Future: newFuture[Out](ctx, f)}
	if op := f.Op(); op != nil {
		run.id = op.Peer
	}
	return run
}

// elsewhere is the birth of a child whose definition is not at hand: as one that is started by name has it.
func (o startOptions) elsewhere(ctx context.Context, e *env, workflow string, input []byte) (b world.Birth, err error) {
	if err := o.settle(ctx, e.book, e.known, workflow); err != nil {
		return b, err
	}
	b = o.birth(workflow, e.maxRetention)
	if b.Attributes, err = o.allAttributes(); err != nil {
		return b, err
	}
	class := world.Class{Workflow: workflow, Version: o.Version}
	g, err := gathersOf(ctx, e.book, e.known, class)
	if err == nil && g != nil {
		err = notGathered(g.said)
	}
	if err != nil {
		return b, err
	}
	b.Places, err = ofChild(placesOf(ctx, e.book, e.known, class, input))
	return b, err
}

// ofChild refuses what no child needs.
func ofChild(places []world.Place, err error) ([]world.Place, error) {
	for i := range places {
		if places[i].Refuse {
			return nil, fmt.Errorf("%w: limit %s refuses starts, and a child cannot try again: start the run from outside the workflow, or define the rate without Refuse",
				ErrInvalid, places[i].Limit)
		}
	}
	return places, err
}

// AwaitRun waits for the result of any run, and takes no slot meanwhile. If the run is over, the
// result comes at once. The error is a [*StepError]: it matches [ErrNotFound] if the run is unknown
// or deleted; otherwise the run failed or was cancelled.
func AwaitRun[Out any](ctx Context, run string) (Out, error) {
	err := world.CheckRunID(run)
	if err == nil && run == ctx.RunID() {
		err = fmt.Errorf("%w: run %s cannot wait for itself", ErrInvalid, run)
	}
	if err != nil {
		var zero Out
		return zero, err
	}
	return newFuture[Out](ctx, ctx.x.Other(world.KindAwait, run, run, nil, nil)).Get(ctx)
}
