package behaviour_test

// This file is the workflow of the simulation: it interprets the program that is its input.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world"
)

// simBody is the body of every step.
type simBody func(context.Context, simNode) (int, error)

// noBody is the body of steps in a replay, which runs none.
func noBody(context.Context, simNode) (int, error) { panic("a replay ran a step") }

// simCode is the code of one worker.
type simCode struct {
	work simBody
	old  bool // from before the deploy: it knows no patches
	wf   *stepwell.Workflow[simNode, int]
	task *stepwell.RegisteredStep[simNode, int]
}

func newSimCode(work simBody, old bool, limits ...stepwell.WorkflowOption) *simCode {
	c := &simCode{work: work, old: old}
	c.task = stepwell.DefineStep("task", work, append(stepLimits(limits), stepwell.Retry{Base: 20 * time.Millisecond})...)
	limits = slices.DeleteFunc(limits, func(o stepwell.WorkflowOption) bool { _, is := o.(ofSteps); return is })
	c.wf = stepwell.Define("sim", c.main, append(limits, stepwell.FailOn(stepwell.Panics))...)
	return c
}

// main is the code of a run with a program.
func (c *simCode) main(ctx stepwell.Context, p simNode) (int, error) {
	v, err := c.run(ctx, p)
	if err == nil && p.Carry != nil {
		v = mix(*p.Carry, v)
	}
	if err == nil && p.Undoes {
		err = stepwell.UndoAll(ctx)
	}
	switch {
	case err == nil && p.Next != nil:
		next := *p.Next
		next.Carry = &v
		err := stepwell.ContinueAsNew(ctx, next)
		if !errors.Is(err, stepwell.ErrInvalid) {
			return 0, err // cancelled: what was done is undone
		}
		stepwell.DropUndo(ctx)
		return 0, stepwell.ContinueAsNew(ctx, next)
	case err == nil && p.Fails < 0 && p.Panics:
		panic(errSimRun)
	case err == nil && p.Fails < 0:
		return 0, errSimRun
	}
	return v, err
}

// errSimRun is what a program that fails returns.
var errSimRun = errors.New("the program fails")

func (c *simCode) definitions() []stepwell.Definition {
	return []stepwell.Definition{c.wf, c.task}
}

func (c *simCode) run(ctx stepwell.Context, n simNode) (int, error) {
	switch n.Op {
	case "step":
		return c.step(ctx, n)
	case "task":
		return simOutcome(c.task.With(n.begins()...).Run(ctx, n))
	case "blob":
		return c.blob(ctx, n)
	case "sleep":
		return 1, stepwell.Sleep(ctx, n.Name, n.Lasts)
	case "event", "never":
		return simReceived(n.event(ctx).Get(ctx))
	case "hook":
		return c.hook(ctx, n)
	case "child":
		return simOther(c.child(ctx, n).Get(ctx))
	case "spawn":
		c.child(ctx, n)
		return 1, nil
	case "await":
		return simOther(stepwell.AwaitRun[int](ctx, n.ID))
	case "send":
		return simOther(1, stepwell.Event[int](n.Name).SendTo(ctx, n.ID, n.Value))
	case "patch":
		if !c.old && stepwell.Patched(ctx, n.Name) {
			return c.run(ctx, n.Kids[0])
		}
		return c.run(ctx, n.Kids[1])
	case "guard":
		return c.guard(ctx, n)
	case "attr":
		return 1, stepwell.SetAttribute(ctx, n.Name, n.Value)
	case "comp":
		undo := n.Kids[1]
		if n.Early {
			return c.step(ctx, n.Kids[0], stepwell.Undo(undo.Name, c.undo, undo, undo.retry()))
		}
		v, err := c.run(ctx, n.Kids[0])
		if err == nil && v != simFailed && v != simLate {
			stepwell.AddUndo(ctx, undo.Name, c.undo, undo, undo.retry())
		}
		return v, err
	case "seq":
		var vs []int
		for _, k := range n.Kids {
			v, err := c.run(ctx, k)
			if err != nil {
				return 0, err
			}
			vs = append(vs, v)
		}
		return mix(vs...), nil
	}
	return c.beside(ctx, n)
}

func (c *simCode) undo(ctx context.Context, n simNode) error {
	_, err := c.work(ctx, n)
	return err
}

func (c *simCode) step(ctx stepwell.Context, n simNode, opts ...stepwell.StepOption) (int, error) {
	return simOutcome(stepwell.Step(ctx, n.Name, func(b context.Context) (int, error) { return c.work(b, n) }, append(opts, n.begins()...)...))
}

// blob makes a value that is a stream in one step, and reads it in another, which never fails by itself.
func (c *simCode) blob(ctx stepwell.Context, n simNode) (int, error) {
	ref, err := stepwell.Step(ctx, n.Name, func(b context.Context) (blob.Ref, error) {
		v, err := c.work(b, n)
		if err != nil {
			return blob.Ref{}, err
		}
		var ref blob.Ref
		err = insistent(b, func(b context.Context) error { ref, err = blob.From(b, strings.NewReader(strconv.Itoa(v))); return err })
		return ref, err
	}, n.begins()...)
	if v, err := simOutcome(0, err); err != nil || v != 0 {
		return v, err
	}
	read := simNode{Op: "step", Name: n.Name + simReads, Attempts: 1}
	return simOutcome(stepwell.Step(ctx, read.Name, func(b context.Context) (int, error) {
		if _, err := c.work(b, read); err != nil {
			return 0, err
		}
		v := 0
		err := insistent(b, func(b context.Context) error {
			r, err := blob.Open(b, ref)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r)
			if err == nil {
				v, err = strconv.Atoi(string(text))
			}
			return errors.Join(err, r.Close())
		})
		return v, err
	}, read.retry()))
}

// insistent does something with values again where a store fails, which would end the attempt of a step. It does not
// heed the end of its context either: only [simulation.work] is asked whether a body saw that.
func insistent(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	for {
		err := do(ctx)
		if !errors.Is(err, world.ErrStorage) && !errors.Is(err, world.ErrUnknownOutcome) {
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// simReads ends the name of the step that reads a blob.
const simReads = "-read"

// beside evaluates what has several kids at once.
func (c *simCode) beside(ctx stepwell.Context, n simNode) (int, error) {
	switch n.Op {
	case "map":
		vs, err := stepwell.Map(ctx, n.Kids, n.Limit, c.run)
		return mix(vs...), err
	case "fan":
		var started []*stepwell.ChildRun[int]
		for _, k := range n.Kids {
			started = append(started, c.child(ctx, k))
		}
		var vs []int
		for _, s := range started {
			v, err := simOther(s.Get(ctx))
			if err != nil {
				return 0, err
			}
			vs = append(vs, v)
		}
		return mix(vs...), nil
	case "select":
		return c.choose(ctx, n)
	case "cond":
		return c.cond(ctx, n)
	}
	var fs []*stepwell.Future[int]
	for _, k := range n.Kids {
		fs = append(fs, c.spawn(ctx, k))
	}
	if n.Op == "race" {
		return stepwell.Race(ctx, fs...)
	}
	vs, err := stepwell.All(ctx, fs...)
	return mix(vs...), err
}

func (c *simCode) spawn(ctx stepwell.Context, n simNode) *stepwell.Future[int] {
	return stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return c.run(ctx, n) })
}

func (c *simCode) child(ctx stepwell.Context, n simNode) *stepwell.ChildRun[int] {
	opts := []stepwell.ChildOption{stepwell.RunID(n.ID)}
	if n.Detached {
		opts = append(opts, stepwell.Detached())
	}
	return c.wf.Child(opts...).Start(ctx, n.Kids[0])
}

// hook takes payloads. Its metadata says which statement it belongs to.
func (c *simCode) hook(ctx stepwell.Context, n simNode) (int, error) {
	rounds := 1
	if n.Again && !n.Open {
		rounds = 2
	}
	opts := []stepwell.HookOption{stepwell.Metadata(n.Name)}
	if n.Timeout > 0 {
		opts = append(opts, stepwell.HeartbeatTimeout(max(n.Timeout, time.Second)))
	}
	if n.Token != "" {
		opts = append(opts, stepwell.Token(n.Token))
	}
	var vs []int
	for range rounds {
		h, err := stepwell.NewHook[int](ctx, opts...)
		if _, conflict := errors.AsType[*stepwell.HookConflictError](err); conflict {
			vs = append(vs, simConflict)
			continue
		}
		for i := 0; err == nil && i < n.Payloads; i++ {
			if i == 1 && n.Again { // the same hook
				if h, err = stepwell.NewHook[int](ctx, stepwell.Token(h.Token())); err != nil {
					break
				}
			}
			var v int
			if v, _, err = h.Wait(ctx); errors.Is(err, stepwell.ErrHeartbeat) {
				v, err = simSilent, nil
			}
			vs = append(vs, v)
		}
		if err == nil && !n.Open {
			err = h.Dispose(ctx)
		}
		if err != nil {
			return 0, err
		}
	}
	return mix(vs...), nil
}

// choose waits for the first of futures of different types: by a part of the run that is cancelled behind it, or by a race.
func (c *simCode) choose(ctx stepwell.Context, n simNode) (int, error) {
	if !n.Part {
		return c.race(ctx, n)
	}
	part, cancel := stepwell.WithCancel(ctx)
	defer cancel()
	var fs []stepwell.Awaitable
	var gets []func(stepwell.Context) (int, error)
	for _, k := range n.Kids {
		f, get := c.begin(part, k)
		fs, gets = append(fs, f), append(gets, get)
	}
	i, err := stepwell.Select(ctx, fs...)
	if err != nil {
		return 0, err
	}
	cancel()
	v, err := gets[i](ctx)
	return mix(i, v), err
}

func (c *simCode) race(ctx stepwell.Context, n simNode) (int, error) {
	type end struct {
		i, v int
		err  error
	}
	var fs []*stepwell.Future[end]
	for i, k := range n.Kids {
		fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (end, error) {
			_, get := c.begin(ctx, k)
			v, err := get(ctx)
			return end{i, v, err}, nil
		}))
	}
	first, err := stepwell.Race(ctx, fs...)
	if err != nil {
		return 0, err
	}
	return mix(first.i, first.v), first.err
}

// begin asks for a kid of a select, and tells how its value is got.
func (c *simCode) begin(ctx stepwell.Context, k simNode) (stepwell.Awaitable, func(stepwell.Context) (int, error)) {
	switch k.Op {
	case "sleep":
		f := stepwell.Timer(ctx, k.Name, k.Lasts)
		return f, func(ctx stepwell.Context) (int, error) { _, err := f.Get(ctx); return 1, err }
	case "event":
		f := k.event(ctx)
		return f, func(ctx stepwell.Context) (int, error) { return simReceived(f.Get(ctx)) }
	case "child":
		f := c.child(ctx, k)
		return f, func(ctx stepwell.Context) (int, error) { return simOther(f.Get(ctx)) }
	}
	f := c.spawn(ctx, k)
	return f, f.Get
}

// cond tells by the name of a wait whether the code saw the condition hold in time.
func (c *simCode) cond(ctx stepwell.Context, n simNode) (int, error) {
	over := false
	kid := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
		v, err := c.run(ctx, n.Kids[0])
		over = true
		return v, err
	})
	held, err := stepwell.Await(ctx, func() bool { return over }, stepwell.Timeout(n.Timeout))
	if err != nil {
		return 0, err
	}
	if err := stepwell.Sleep(ctx, n.told(held), 0); err != nil {
		return 0, err
	}
	v, err := kid.Get(ctx)
	if held {
		v++
	}
	return mix(v), err
}

// told is the name of the wait that a cond tells with what it saw.
func (n *simNode) told(held bool) string {
	if held {
		return n.Name + ":held"
	}
	return n.Name + ":late"
}

// guard cleans up after its body, also where that was cancelled.
func (c *simCode) guard(ctx stepwell.Context, n simNode) (int, error) {
	if _, err := c.run(ctx, n.Kids[0]); err != nil {
		return 0, err
	}
	v, err := c.run(ctx, n.Kids[1])
	u, undo := c.run(ctx.Uncancelled(), n.Kids[2])
	return mix(v, u), errors.Join(err, undo)
}

func (n *simNode) retry() stepwell.Retry {
	return stepwell.Retry{Attempts: n.Attempts, Base: cmp.Or(n.Base, 20*time.Millisecond), Jitter: -1}
}

// begins are the options of a step.
func (n *simNode) begins() []stepwell.StepOption {
	if n.Queue == 0 {
		return []stepwell.StepOption{n.retry()}
	}
	return []stepwell.StepOption{n.retry(), stepwell.QueueTimeout(n.Queue)}
}

func (n *simNode) event(ctx stepwell.Context) *stepwell.Future[stepwell.Received[int]] {
	var opts []stepwell.EventOption
	if n.Timeout > 0 {
		opts = append(opts, stepwell.Timeout(n.Timeout))
	}
	return stepwell.Event[int](n.Name).Start(ctx, opts...)
}

func simReceived(r stepwell.Received[int], err error) (int, error) {
	if err == nil && !r.OK {
		return simFailed, nil
	}
	return r.Payload, err
}

// simOutcome makes a value of a step that failed for good.
func simOutcome(v int, err error) (int, error) {
	if failed, ok := errors.AsType[*stepwell.StepError](err); ok && failed.Code == "" {
		return simFailed, nil
	} else if ok && failed.Code == world.CodeNotStarted {
		return simLate, nil
	}
	return v, err
}

// simOther makes a value of another run that did not come to one.
func simOther(v int, err error) (int, error) {
	if failed, ok := errors.AsType[*stepwell.StepError](err); ok {
		if v, ok := simCodes[failed.Code]; ok {
			return v, nil
		}
	}
	return v, err
}

// simCodes are the values of the outcomes of other runs.
var simCodes = map[string]int{
	"": simRunFailed, world.CodePanic: simRunFailed, world.CodeTimeout: simTimedOut, world.CodeCancelled: simCancelled, world.CodeRunExists: simExists, world.CodeNotFound: simUnknown,
	world.CodeRunOver: simOver,
}
