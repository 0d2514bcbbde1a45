package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/stepwell/stepwell/bench/engine"
)

// This file is what workloads ask of the engine.

var (
	_ engine.Fanner    = (*peer)(nil)
	_ engine.Starter   = (*peer)(nil)
	_ engine.Sleeper   = (*peer)(nil)
	_ engine.Signaller = (*peer)(nil)
	_ engine.Parent    = (*peer)(nil)
	_ engine.Lister    = (*peer)(nil)
	_ engine.Processes = (*peer)(nil)
)

// start starts a run of the named workflow. It is durable when start returns.
func (p *peer) start(ctx context.Context, name string, arguments ...any) (client.WorkflowRun, error) {
	id := fmt.Sprintf("%s-%d", name, p.number.Add(1))
	run, err := p.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, name, arguments...)
	if err != nil {
		return nil, fmt.Errorf("starting run %s of Temporal: %w", id, err)
	}
	p.last.Store(&id)
	return run, nil
}

// result waits for the result of a run and compares it with what it must be.
func result(ctx context.Context, run client.WorkflowRun, want int) error {
	var got int
	if err := run.Get(ctx, &got); err != nil {
		return fmt.Errorf("run %s of Temporal: %w", run.GetID(), err)
	}
	if got != want {
		return fmt.Errorf("run %s of Temporal returned %d, want %d", run.GetID(), got, want)
	}
	return nil
}

// call starts a run and waits for its result.
func (p *peer) call(ctx context.Context, want int, name string, arguments ...any) error {
	run, err := p.start(ctx, name, arguments...)
	if err != nil {
		return err
	}
	return result(ctx, run, want)
}

// Serial implements [engine.Engine].
func (p *peer) Serial(ctx context.Context, n int, gaps []time.Time) error {
	if n > mostSteps {
		return fmt.Errorf("the server of Temporal ends a run whose history has more than 51,200 events: %d steps are too many for one run, %d are not", n, mostSteps)
	}
	var number int64
	if gaps != nil {
		number = p.number.Add(1)
		p.gaps.Store(number, gaps)
		defer p.gaps.Delete(number)
	}
	return p.call(ctx, n, "serial", number, n)
}

// Fanout implements [engine.Fanner].
func (p *peer) Fanout(ctx context.Context, n int) error { return p.call(ctx, n, "fanout", n) }

// Children implements [engine.Parent].
func (p *peer) Children(ctx context.Context, n int) error { return p.call(ctx, n, "parent", n) }

// Start implements [engine.Starter].
func (p *peer) Start(ctx context.Context) error {
	_, err := p.start(ctx, "serial", int64(0), 1)
	return err
}

// Sleepers implements [engine.Sleeper]. A run sleeps when its history has its timer.
func (p *peer) Sleepers(ctx context.Context, n int) error {
	const starters = 32
	var starting sync.WaitGroup
	failed := make(chan error, starters)
	for i := range starters {
		starting.Go(func() {
			runs := make([]client.WorkflowRun, 0, n/starters+1)
			for j := i; j < n; j += starters {
				run, err := p.start(ctx, "sleeper")
				if err != nil {
					failed <- err
					return
				}
				runs = append(runs, run)
			}
			for _, run := range runs {
				if err := p.until(ctx, run, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	starting.Wait()
	close(failed)
	return <-failed
}

// until waits until a run's history has an event of a type.
func (p *peer) until(ctx context.Context, run client.WorkflowRun, want enums.EventType) error {
	events := p.client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("following run %s of Temporal: %w", run.GetID(), err)
		}
		if event.GetEventType() == want {
			return nil
		}
	}
	return fmt.Errorf("run %s of Temporal ended before its history had an event %s", run.GetID(), want)
}

// Signal implements [engine.Signaller]. A run waits when its first task is in its history.
func (p *peer) Signal(ctx context.Context) (sent, began time.Time, err error) {
	number, at := p.number.Add(1), make(chan time.Time, 1)
	p.began.Store(number, at)
	defer p.began.Delete(number)
	run, err := p.start(ctx, "signalled", number)
	if err != nil {
		return sent, began, err
	}
	if err := p.until(ctx, run, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED); err != nil {
		return sent, began, err
	}
	if err := p.client.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), "go", 1); err != nil {
		return sent, began, fmt.Errorf("signalling run %s of Temporal: %w", run.GetID(), err)
	}
	sent = time.Now()
	select {
	case began = <-at:
	case <-ctx.Done():
		return sent, began, ctx.Err()
	}
	return sent, began, result(ctx, run, 1)
}

// List implements [engine.Lister].
func (p *peer) List(ctx context.Context) error {
	_, err := p.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: client.DefaultNamespace, PageSize: 50, Query: `WorkflowType = "serial" AND ExecutionStatus = "Completed"`,
	})
	if err != nil {
		return fmt.Errorf("listing the runs of Temporal: %w", err)
	}
	return nil
}

// Events implements [engine.Lister].
func (p *peer) Events(ctx context.Context) error {
	id := p.last.Load()
	if id == nil {
		return nil
	}
	events := p.client.GetWorkflowHistory(ctx, *id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		if _, err := events.Next(); err != nil {
			if none := (*serviceerror.NotFound)(nil); errors.As(err, &none) {
				return nil
			}
			return fmt.Errorf("reading the history of run %s of Temporal: %w", *id, err)
		}
	}
	return nil
}
