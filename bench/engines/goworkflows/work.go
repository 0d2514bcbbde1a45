package goworkflows

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/workflow"

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
)

// start starts a run of the named workflow. It is durable when start returns.
func (p *peer) start(ctx context.Context, name string, arguments ...any) (*workflow.Instance, error) {
	id := fmt.Sprintf("%s-%d", name, p.number.Add(1))
	run, err := p.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, name, arguments...)
	if err != nil {
		return nil, fmt.Errorf("starting run %s of go-workflows: %w", id, err)
	}
	p.last.Store(run)
	return run, nil
}

// result waits for the result of a run and compares it with what it must be.
func (p *peer) result(ctx context.Context, run *workflow.Instance, want int) error {
	got, err := client.GetWorkflowResult[int](ctx, p.client, run, patience)
	if err != nil {
		return fmt.Errorf("run %s of go-workflows: %w", run.InstanceID, err)
	}
	if got != want {
		return fmt.Errorf("run %s of go-workflows returned %d, want %d", run.InstanceID, got, want)
	}
	return nil
}

// call starts a run and waits for its result.
func (p *peer) call(ctx context.Context, want int, name string, arguments ...any) error {
	run, err := p.start(ctx, name, arguments...)
	if err != nil {
		return err
	}
	return p.result(ctx, run, want)
}

// Serial implements [engine.Engine].
func (p *peer) Serial(ctx context.Context, n int, gaps []time.Time) error {
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

// Sleepers implements [engine.Sleeper]. A run sleeps when its timer is in the store.
func (p *peer) Sleepers(ctx context.Context, n int) error {
	const starters = 32
	before, bodies := 0, p.asleep.Load()
	if err := p.timers(ctx, &before); err != nil {
		return err
	}
	var starting sync.WaitGroup
	failed := make(chan error, starters)
	for i := range starters {
		starting.Go(func() {
			for j := i; j < n; j += starters {
				if _, err := p.start(ctx, "sleeper"); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	starting.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	return await(ctx, func() (bool, error) {
		if p.asleep.Load()-bodies < int64(n) {
			return false, nil
		}
		now := 0
		err := p.timers(ctx, &now)
		return now-before >= n, err
	})
}

// timers counts the timers that are set.
func (p *peer) timers(ctx context.Context, count *int) error {
	if err := p.store.QueryRowContext(ctx, "SELECT count(*) FROM pending_events WHERE visible_at IS NOT NULL").Scan(count); err != nil {
		return fmt.Errorf("counting the timers of go-workflows: %w", err)
	}
	return nil
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
	if err := await(ctx, func() (bool, error) {
		events, err := p.backend.GetWorkflowInstanceHistory(ctx, run, nil)
		return len(events) > 0, err
	}); err != nil {
		return sent, began, fmt.Errorf("waiting until run %s of go-workflows waits: %w", run.InstanceID, err)
	}
	if err := p.client.SignalWorkflow(ctx, run.InstanceID, "go", 1); err != nil {
		return sent, began, fmt.Errorf("signalling run %s of go-workflows: %w", run.InstanceID, err)
	}
	sent = time.Now()
	select {
	case began = <-at:
	case <-ctx.Done():
		return sent, began, ctx.Err()
	}
	return sent, began, p.result(ctx, run, 1)
}

// List implements [engine.Lister].
func (p *peer) List(ctx context.Context) error {
	if _, err := p.runs.GetWorkflowInstances(ctx, "", "", 50); err != nil {
		return fmt.Errorf("listing the runs of go-workflows: %w", err)
	}
	return nil
}

// Events implements [engine.Lister].
func (p *peer) Events(ctx context.Context) error {
	run := p.last.Load()
	if run == nil {
		return nil
	}
	if _, err := p.backend.GetWorkflowInstanceHistory(ctx, run, nil); err != nil {
		return fmt.Errorf("reading the history of run %s of go-workflows: %w", run.InstanceID, err)
	}
	return nil
}

// await asks until the answer is yes, soon at first and then every 50 ms.
func await(ctx context.Context, yes func() (bool, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if ok, err := yes(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
