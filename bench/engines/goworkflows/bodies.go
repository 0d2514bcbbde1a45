package goworkflows

import (
	"context"
	"errors"
	"time"

	"github.com/cschleiden/go-workflows/registry"
	"github.com/cschleiden/go-workflows/workflow"
)

// This file holds the workflows and the one activity that are run.

// register tells the worker what there is to run, under plain names.
func (p *peer) register() error {
	var failed error
	for name, body := range map[string]any{
		"serial": p.serial, "fanout": p.fanout, "sleeper": p.sleeper, "signalled": p.signalled, "parent": p.parent, "child": child,
	} {
		failed = errors.Join(failed, p.worker.RegisterWorkflow(body, registry.WithName(name)))
	}
	return errors.Join(failed, p.worker.RegisterActivity(p.step, registry.WithName("step")))
}

// step is the trivial step: it returns its number. Of a run whose number is not 0 it notes when it began.
func (p *peer) step(_ context.Context, run int64, i int) (int, error) {
	if run != 0 {
		now := time.Now()
		if at, found := p.gaps.Load(run); found {
			at.([]time.Time)[i] = now
		}
		if at, found := p.began.LoadAndDelete(run); found {
			at.(chan time.Time) <- now // has room for it
		}
	}
	return i, nil
}

func (p *peer) serial(ctx workflow.Context, run int64, n int) (int, error) {
	for i := range n {
		if _, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, "step", run, i).Get(ctx); err != nil {
			return i, err
		}
	}
	return n, nil
}

func (p *peer) fanout(ctx workflow.Context, n int) (int, error) {
	steps := make([]workflow.Future[int], n)
	for i := range steps {
		steps[i] = workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, "step", int64(0), i)
	}
	return all(ctx, steps)
}

func (p *peer) sleeper(ctx workflow.Context) (int, error) {
	if !workflow.Replaying(ctx) {
		p.asleep.Add(1)
	}
	return 0, workflow.Sleep(ctx, 24*time.Hour)
}

func (p *peer) signalled(ctx workflow.Context, run int64) (int, error) {
	workflow.NewSignalChannel[int](ctx, "go").Receive(ctx)
	return p.serial(ctx, run, 1)
}

func (p *peer) parent(ctx workflow.Context, n int) (int, error) {
	children := make([]workflow.Future[int], n)
	for i := range children {
		children[i] = workflow.CreateSubWorkflowInstance[int](ctx, workflow.DefaultSubWorkflowOptions, "child", i)
	}
	return all(ctx, children)
}

func child(_ workflow.Context, i int) (int, error) { return i, nil }

// all waits for futures and returns how many there were.
func all(ctx workflow.Context, futures []workflow.Future[int]) (int, error) {
	for i, f := range futures {
		if _, err := f.Get(ctx); err != nil {
			return i, err
		}
	}
	return len(futures), nil
}
