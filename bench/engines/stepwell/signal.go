package stepwell

// This file has signals, and what wakes a run that was replayed.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/bench/engine"
)

// Signal is [engine.Signaller]'s.
func (b *bench) Signal(ctx context.Context) (sent, began time.Time, err error) {
	return b.signal(ctx, b.app)
}

// remote is the engine where two processes may share a store without a server in between, and more than one may work.
type remote struct{ *bench }

// SignalRemote is [engine.RemoteSignaller]'s.
func (r remote) SignalRemote(ctx context.Context) (sent, began time.Time, err error) {
	client, err := r.stranger(ctx)
	if err != nil {
		return sent, began, err
	}
	return r.signal(ctx, client)
}

// stranger is a client with a world of its own.
func (b *bench) stranger(ctx context.Context) (*stepwell.App, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	w, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	b.theirs = w
	b.client, err = stepwell.New(w, stepwell.Config{})
	return b.client, err
}

func (b *bench) signal(ctx context.Context, from *stepwell.App) (sent, began time.Time, err error) {
	run, err := b.flows.listen.Start(ctx, b.app, order{})
	if err != nil {
		return sent, began, err
	}
	if err := b.hibernates(ctx, run.ID()); err != nil {
		return sent, began, b.why(run.ID(), "to hibernate", err)
	}
	if sent, began, err = b.wake(ctx, from, run.ID()); err != nil {
		return sent, began, b.why(run.ID(), "to be woken", err)
	}
	if err := b.flows.ping.Send(ctx, b.app, run.ID(), -1); err != nil {
		return sent, began, err
	}
	if _, err = run.Result(ctx); err != nil {
		err = b.why(run.ID(), "to end", err)
	}
	return sent, began, err
}

// why adds to an error what Stepwell says of a run that did not do what it was to do.
func (b *bench) why(run, what string, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	why, e := b.app.Why(ctx, run)
	row, e2 := b.world.Run(ctx, run)
	return fmt.Errorf("waited for run %s %s: %w (%v, %v; %+v %+v %v)", run, what, err, why, e, row, row.Queue, e2)
}

// wake sends a signal, and tells when that was accepted and when the next step's body began.
func (b *bench) wake(ctx context.Context, from *stepwell.App, run string) (sent, began time.Time, err error) {
	heard := make(chan time.Time, 1)
	note, forget := b.noted(func(_ int, at time.Time) { heard <- at })
	defer forget()
	if err := b.flows.ping.Send(ctx, from, run, int(note)); err != nil {
		return sent, began, err
	}
	sent = time.Now()
	select {
	case began = <-heard:
		return sent, began, nil
	case <-ctx.Done():
		return sent, began, context.Cause(ctx)
	}
}

// Prepare is [engine.Replayer]'s.
func (b *bench) Prepare(ctx context.Context, runs, steps int) ([]string, error) {
	ids, errs := make([]string, runs), make([]error, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			run, err := b.flows.listen.Start(ctx, b.app, order{Steps: steps})
			if err == nil {
				ids[i] = run.ID()
				err = b.hibernates(ctx, run.ID())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return ids, errors.Join(errs...)
}

// Wake is [engine.Replayer]'s.
func (b *bench) Wake(ctx context.Context, id string) (time.Duration, error) {
	called := time.Now()
	_, began, err := b.wake(ctx, b.app, id)
	return began.Sub(called), err
}

// Tick is [engine.Ticker]'s.
func (b *bench) Tick(ctx context.Context, n int) error {
	for range n {
		if _, err := b.flows.tick.Start(ctx, b.app, order{Steps: 10_000}); err != nil {
			return err
		}
	}
	_, err := b.Ticked(ctx, n)
	return err
}

// Ticked is [engine.Ticker]'s.
func (b *bench) Ticked(ctx context.Context, n int) (at []time.Time, err error) {
	err = b.poll(ctx, func() (bool, error) {
		at = at[:0]
		b.ticking.Range(func(_, when any) bool {
			at = append(at, when.(time.Time))
			return true
		})
		return len(at) >= n, nil
	})
	return at, err
}

// Forget is [engine.Forgetter]'s, of files.
func (f file) Forget() error {
	files, err := filepath.Glob(filepath.Join(f.store.Dir, "stepwell.db*"))
	for _, path := range files {
		err = errors.Join(err, forget(path))
	}
	return err
}

// file is the engine on a file.
type file struct{ *bench }

var (
	_ engine.RemoteSignaller = remote{}
	_ engine.Forgetter       = file{}
)
