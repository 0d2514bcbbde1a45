// Package stepwell runs the workloads on Stepwell, with its defaults throughout: no option of it is set.
package stepwell

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// Maker opens Stepwell.
var Maker = engine.Maker{
	Name: "stepwell", Version: engine.ModuleVersion("github.com/stepwell/stepwell"), Stores: []engine.Kind{engine.SQLite, engine.Postgres},
	Settings: map[string]string{
		"worker":   "256 runs and 256 bodies of steps at once, 1,000 waiting runs cached (default)",
		"sqlite":   "WAL, synchronous=FULL (default; there is no other; what only claims runs or renews leases is not synced by itself)",
		"postgres": "2 connections that write commits, up to 8 for all else (default)",
	},
	Open: open,
}

type bench struct {
	store engine.Store
	world world.World
	app   *stepwell.App
	stop  context.CancelFunc
	ended chan error

	flows flows

	noting  sync.Map // what bodies of steps tell, by order.Note: see note
	notes   atomic.Int64
	newest  atomic.Value // the ID of a run that was started not long ago
	ticking sync.Map     // run → when it first ticked here

	mu     sync.Mutex
	client *stepwell.App // with a world of its own: see SignalRemote
	theirs world.World
}

func open(ctx context.Context, s engine.Store) (engine.Engine, error) {
	b := &bench{store: s}
	w, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	b.world = w
	b.define()
	if b.app, err = stepwell.New(w, stepwell.Config{Definitions: b.flows.all()}); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop, b.ended = stop, make(chan error, 1)
	go func() { b.ended <- b.app.Run(running) }()
	if err := b.joined(ctx); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	if s.Kind == engine.SQLite {
		return file{b}, nil
	}
	return remote{b}, nil
}

func (b *bench) connect(ctx context.Context) (world.World, error) {
	switch b.store.Kind {
	case engine.SQLite:
		return sqlite.Open(filepath.Join(b.store.Dir, "stepwell.db"))
	case engine.Postgres:
		return postgres.Open(ctx, b.store.URL)
	}
	return nil, fmt.Errorf("stepwell has no store of kind %s", b.store.Kind)
}

// joined waits until the worker has joined.
func (b *bench) joined(ctx context.Context) error {
	return b.poll(ctx, func() (bool, error) {
		select {
		case err := <-b.ended:
			b.ended <- nil
			return false, fmt.Errorf("the worker ended: %w", err)
		default:
		}
		s, err := b.world.Stats(ctx)
		return len(s.Workers) > 0, err
	})
}

// poll waits for what must come; what is measured is not measured with it.
func (b *bench) poll(ctx context.Context, there func() (bool, error)) error {
	for {
		ok, err := there()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Close stops the worker and closes the store.
func (b *bench) Close(context.Context) error {
	b.stop()
	err := errors.Join(<-b.ended, b.world.Close())
	if b.theirs != nil {
		err = errors.Join(err, b.theirs.Close())
	}
	return err
}
