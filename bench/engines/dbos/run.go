package dbos

// This file has the abilities.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/stepwell/stepwell/bench/engine"
)

var _ interface {
	engine.Engine
	engine.Fanner
	engine.Starter
	engine.Sleeper
	engine.Signaller
	engine.Parent
	engine.Lister
} = (*bench)(nil)

const topic = "ping"

func (b *bench) done(wf dbos.Workflow[order, int], in order, want int) error {
	run, err := dbos.RunWorkflow(b.ctx, wf, in)
	if err != nil {
		return err
	}
	b.newest.Store(run.GetWorkflowID())
	if got, err := run.GetResult(); got != want || err != nil {
		return fmt.Errorf("run %s: got %d, want %d: %w", run.GetWorkflowID(), got, want, err)
	}
	return nil
}

// Serial is [engine.Engine]'s.
func (b *bench) Serial(_ context.Context, n int, gaps []time.Time) error {
	in := order{Steps: n}
	if gaps != nil {
		note, forget := b.noted(func(i int, at time.Time) { gaps[i] = at })
		defer forget()
		in.Note = note
	}
	return b.done(b.serial, in, n*(n-1)/2)
}

// Fanout is [engine.Fanner]'s.
func (b *bench) Fanout(_ context.Context, n int) error { return b.done(b.wide, order{Steps: n}, n) }

// Children is [engine.Parent]'s.
func (b *bench) Children(_ context.Context, n int) error { return b.done(b.parent, order{Steps: n}, n) }

// Start is [engine.Starter]'s.
func (b *bench) Start(context.Context) error {
	_, err := dbos.RunWorkflow(b.ctx, b.serial, order{Steps: 1})
	return err
}

const clients = 50 // that put runs to sleep

// Sleepers is [engine.Sleeper]'s.
func (b *bench) Sleepers(ctx context.Context, n int) error {
	errs := make([]error, clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for errs[c] == nil && next.Add(1) <= int64(n) {
				_, errs[c] = dbos.RunWorkflow(b.ctx, b.nap, order{})
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// Those that are about to sleep are counted here, which costs nothing; then those that have recorded it.
	return poll(ctx, 10*time.Millisecond, func() (bool, error) {
		if b.napping.Load() < int64(n) {
			return false, nil
		}
		asleep, err := b.asleep(ctx, "")
		return asleep >= n, err
	})
}

// asleep counts the runs, or looks at one, that recorded until when they wait.
func (b *bench) asleep(ctx context.Context, run string) (n int, err error) {
	if run != "" {
		steps, err := dbos.GetWorkflowSteps(b.ctx, run)
		for _, s := range steps {
			if s.StepName == "DBOS.sleep" {
				n++
			}
		}
		return n, err
	}
	for _, table := range []string{"dbos.operation_outputs", "operation_outputs"} { // PostgreSQL has a schema, SQLite has none
		if err = b.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table+" WHERE function_name = 'DBOS.sleep'").Scan(&n); err == nil {
			return n, nil
		}
	}
	return n, err
}

// Signal is [engine.Signaller]'s.
func (b *bench) Signal(ctx context.Context) (sent, began time.Time, err error) {
	run, err := dbos.RunWorkflow(b.ctx, b.listen, order{})
	if err != nil {
		return sent, began, err
	}
	err = poll(ctx, 2*time.Millisecond, func() (bool, error) {
		n, err := b.asleep(ctx, run.GetWorkflowID())
		return n > 0, err
	})
	if err != nil {
		return sent, began, err
	}
	heard := make(chan time.Time, 1)
	note, forget := b.noted(func(_ int, at time.Time) { heard <- at })
	defer forget()
	if err := dbos.Send(b.ctx, run.GetWorkflowID(), note, topic); err != nil {
		return sent, began, err
	}
	sent = time.Now()
	if _, err := run.GetResult(); err != nil {
		return sent, began, err
	}
	return sent, <-heard, nil
}

// List is [engine.Lister]'s: the first page of runs that run.
func (b *bench) List(context.Context) error {
	_, err := dbos.ListWorkflows(b.ctx, dbos.WithFilterName("serial"), dbos.WithFilterStatus(dbos.WorkflowStatusPending), dbos.WithFilterLimit(50), dbos.WithFilterSortDesc())
	return err
}

// Events is [engine.Lister]'s: the steps of a run that was started not long ago.
func (b *bench) Events(context.Context) error {
	run, _ := b.newest.Load().(string)
	if run == "" {
		return nil
	}
	_, err := dbos.GetWorkflowSteps(b.ctx, run)
	return err
}

func poll(ctx context.Context, every time.Duration, there func() (bool, error)) error {
	for {
		ok, err := there()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}
