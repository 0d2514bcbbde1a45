package durabletask

import (
	"errors"
	"time"

	"github.com/microsoft/durabletask-go/task"
)

// This file holds the orchestrations and the one activity that are run.

// input is what each of them is given: the run's number, where it is to be known, and how many.
type input struct {
	Run int64
	N   int
}

// register tells the workers what there is to run, under plain names.
func (p *peer) register(tasks *task.TaskRegistry) error {
	failed := tasks.AddActivityN("step", p.step)
	for name, body := range map[string]task.Orchestrator{
		"serial": p.serial, "fanout": fanout, "sleeper": p.sleeper, "signalled": p.signalled, "parent": parent, "child": child,
	} {
		failed = errors.Join(failed, tasks.AddOrchestratorN(name, body))
	}
	return failed
}

// step is the trivial step: it returns its number. Of a run whose number is not 0 it notes when it began.
func (p *peer) step(ctx task.ActivityContext) (any, error) {
	now := time.Now()
	var in input
	if err := ctx.GetInput(&in); err != nil {
		return nil, err
	}
	if in.Run != 0 {
		if at, found := p.gaps.Load(in.Run); found {
			at.([]time.Time)[in.N] = now
		}
		if at, found := p.began.LoadAndDelete(in.Run); found {
			at.(chan time.Time) <- now // has room for it
		}
	}
	return in.N, nil
}

func (p *peer) serial(ctx *task.OrchestrationContext) (any, error) {
	var in input
	if err := ctx.GetInput(&in); err != nil {
		return nil, err
	}
	for i := range in.N {
		var got int
		if err := ctx.CallActivity("step", task.WithActivityInput(input{in.Run, i})).Await(&got); err != nil {
			return nil, err
		}
	}
	return in.N, nil
}

func fanout(ctx *task.OrchestrationContext) (any, error) {
	var in input
	if err := ctx.GetInput(&in); err != nil {
		return nil, err
	}
	steps := make([]task.Task, in.N)
	for i := range steps {
		steps[i] = ctx.CallActivity("step", task.WithActivityInput(input{0, i}))
	}
	return all(steps)
}

func (p *peer) sleeper(ctx *task.OrchestrationContext) (any, error) {
	if !ctx.IsReplaying {
		p.asleep.Add(1)
	}
	return 0, ctx.CreateTimer(24 * time.Hour).Await(nil)
}

func (p *peer) signalled(ctx *task.OrchestrationContext) (any, error) {
	if err := ctx.WaitForSingleEvent("go", -1).Await(nil); err != nil {
		return nil, err
	}
	return p.serial(ctx)
}

func parent(ctx *task.OrchestrationContext) (any, error) {
	var in input
	if err := ctx.GetInput(&in); err != nil {
		return nil, err
	}
	children := make([]task.Task, in.N)
	for i := range children {
		children[i] = ctx.CallSubOrchestrator("child", task.WithSubOrchestratorInput(input{0, i}))
	}
	return all(children)
}

func child(ctx *task.OrchestrationContext) (any, error) {
	var in input
	err := ctx.GetInput(&in)
	return in.N, err
}

// all waits for tasks and returns how many there were.
func all(tasks []task.Task) (any, error) {
	for _, t := range tasks {
		var got int
		if err := t.Await(&got); err != nil {
			return nil, err
		}
	}
	return len(tasks), nil
}
