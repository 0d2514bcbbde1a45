package stepwell

// This file has the abilities.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/world"
)

var _ interface {
	engine.Engine
	engine.Fanner
	engine.Starter
	engine.Sleeper
	engine.Signaller
	engine.Parent
	engine.Lister
	engine.Replayer
	engine.Ticker
} = (*bench)(nil)

// done starts a run and waits for its result.
func (b *bench) done(ctx context.Context, wf *stepwell.Workflow[order, int], in order, want int) error {
	run, err := wf.Start(ctx, b.app, in)
	if err != nil {
		return err
	}
	b.newest.Store(run.ID())
	if got, err := run.Result(ctx); got != want || err != nil {
		return fmt.Errorf("run %s: got %d, want %d: %w", run.ID(), got, want, err)
	}
	return nil
}

// Serial is [engine.Engine]'s.
func (b *bench) Serial(ctx context.Context, n int, gaps []time.Time) error {
	in := order{Steps: n}
	if gaps != nil {
		note, forget := b.noted(func(i int, at time.Time) { gaps[i] = at })
		defer forget()
		in.Note = note
	}
	return b.done(ctx, b.flows.serial, in, n*(n-1)/2)
}

// Fanout is [engine.Fanner]'s.
func (b *bench) Fanout(ctx context.Context, n int) error {
	return b.done(ctx, b.flows.wide, order{Steps: n}, n)
}

// Children is [engine.Parent]'s.
func (b *bench) Children(ctx context.Context, n int) error {
	return b.done(ctx, b.flows.parent, order{Steps: n}, n)
}

// Start is [engine.Starter]'s.
func (b *bench) Start(ctx context.Context) error {
	_, err := b.flows.serial.Start(ctx, b.app, order{Steps: 1})
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
				_, errs[c] = b.flows.nap.Start(ctx, b.app, order{})
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.poll(ctx, func() (bool, error) { // nobody owns a run, and each has begun: all sleep
		s, err := b.world.Stats(ctx)
		if err != nil {
			return false, err
		}
		busy := 0
		for _, w := range s.Workers {
			busy += w.Runs
		}
		for _, w := range s.Workflows {
			busy += w.Pending
		}
		return busy == 0, nil
	})
}

// hibernates waits until nobody owns a run, and nothing is on its way to it.
func (b *bench) hibernates(ctx context.Context, run string) error {
	return b.poll(ctx, func() (bool, error) {
		r, err := b.world.Run(ctx, run)
		if err == nil && r.Status.Terminal() {
			err = fmt.Errorf("run %s is over and should wait: %v", run, r.Error)
		}
		return err == nil && r.Status == world.Running && r.Queue != nil && r.Queue.Owner == "" && r.Queue.Mail == 0, err
	})
}

// List is [engine.Lister]'s: the first page of runs that run.
func (b *bench) List(ctx context.Context) error {
	const page = 50
	n := 0
	for _, err := range b.app.List(ctx, stepwell.ListFilter{Workflow: "serial", Status: []world.Status{world.Running}}) {
		if n++; n == page || err != nil {
			return err
		}
	}
	return nil
}

// Events is [engine.Lister]'s: all events of a run that was started not long ago.
func (b *bench) Events(ctx context.Context) error {
	run, _ := b.newest.Load().(string)
	if run == "" {
		return nil
	}
	for _, err := range b.app.Events(ctx, run, stepwell.EventFilter{}) {
		if err != nil {
			return err
		}
	}
	return nil
}
