package temporal

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"
)

// This file holds the workflows and the one activity that are run.

// register tells the worker what there is to run, under plain names.
func (p *peer) register() {
	for name, body := range map[string]any{
		"serial": serial, "fanout": fanout, "sleeper": sleeper, "signalled": signalled, "parent": parent, "child": child,
	} {
		p.worker.RegisterWorkflowWithOptions(body, workflow.RegisterOptions{Name: name})
	}
	p.worker.RegisterActivityWithOptions(p.step, activity.RegisterOptions{Name: "step"})
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

// steps is ctx with what an activity must have: a limit.
func steps(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour})
}

func serial(ctx workflow.Context, run int64, n int) (int, error) {
	ctx = steps(ctx)
	for i := range n {
		var got int
		if err := workflow.ExecuteActivity(ctx, "step", run, i).Get(ctx, &got); err != nil {
			return i, err
		}
	}
	return n, nil
}

func fanout(ctx workflow.Context, n int) (int, error) {
	ctx = steps(ctx)
	all := make([]workflow.Future, n)
	for i := range all {
		all[i] = workflow.ExecuteActivity(ctx, "step", int64(0), i)
	}
	return wait(ctx, all)
}

func sleeper(ctx workflow.Context) (int, error) { return 0, workflow.Sleep(ctx, 24*time.Hour) }

func signalled(ctx workflow.Context, run int64) (int, error) {
	var got int
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &got)
	return serial(ctx, run, 1)
}

func parent(ctx workflow.Context, n int) (int, error) {
	all := make([]workflow.Future, n)
	for i := range all {
		all[i] = workflow.ExecuteChildWorkflow(ctx, "child", i)
	}
	return wait(ctx, all)
}

func child(_ workflow.Context, i int) (int, error) { return i, nil }

// wait waits for futures and returns how many there were.
func wait(ctx workflow.Context, all []workflow.Future) (int, error) {
	for i, f := range all {
		var got int
		if err := f.Get(ctx, &got); err != nil {
			return i, err
		}
	}
	return len(all), nil
}
