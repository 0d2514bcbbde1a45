package sqlite

// Workers come and go.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// defaultLease is how long a worker is believed alive after a heartbeat, where it does not say.
const defaultLease = 10 * time.Second

var remoteWorker = load("remote_worker")

// Join registers a worker; see [world.Queue]. The first Join takes the file's worker lock, and ends
// what the process before left behind.
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	if err := world.CheckWorker(&wk); err != nil {
		return world.Heartbeat{}, err
	}
	if wk.Lease == 0 {
		wk.Lease = defaultLease
	}
	classes, steps, err := registered(&wk)
	if err != nil {
		return world.Heartbeat{}, err
	}
	definitions, stepLimits := wk.Definitions, wk.StepLimits
	wk.Classes, wk.Steps, wk.Definitions, wk.StepLimits = append([]world.Class(nil), wk.Classes...), append([]string(nil), wk.Steps...), nil, nil
	return askFor(ctx, w, true, func(g *group) (b world.Heartbeat, err error) {
		if g.workers.key(wk.ID) != 0 {
			return b, fmt.Errorf("worker %s has joined: %w", wk.ID, world.ErrConflict)
		}
		if err := w.lead(g, wk.Name); err != nil {
			return b, err
		}
		if err := g.queue.define(definitions, stepLimits, wk.ID); err != nil {
			return b, err
		}
		if _, err := g.tx.limitRetention(wk.MaxRetention, false); err != nil {
			return b, err
		}
		until, err := g.workers.join(wk, classes, steps)
		return world.Heartbeat{Now: g.tx.now(), Until: until}, err
	})
}

// Leave ends a worker's lease and hands back what it holds; see [world.Queue].
func (w *World) Leave(ctx context.Context, id string) error {
	if err := w.know(ctx, id); err != nil {
		return err
	}
	return w.write(ctx, func(g *group) error {
		key := g.workers.key(id)
		if key == 0 {
			return nil
		}
		return g.workers.bury(key, false)
	})
}

// know goes on with the workers that live elsewhere, where one of them asks for something and this process is not the worker process yet. Where
// another one is, it knows them, and this one does not.
func (w *World) know(ctx context.Context, id string) error {
	if id == "" || w.crew.leads() || ctx.Err() != nil {
		return nil
	}
	remote := false
	if err := w.read(ctx, func(c *conn) error {
		_, err := c.one(remoteWorker, func(r row) error { remote = r.bool(0); return nil }, id)
		return err
	}); err != nil || !remote {
		return err
	}
	err := w.write(ctx, func(g *group) error { return w.lead(g, "a server of remote workers") })
	if errors.Is(err, world.ErrWorkerExists) {
		return nil
	}
	return err
}

// harken begins to listen to the bell: there is a worker here.
func (w *World) harken() {
	if w.bell == nil {
		w.bell = listen(w)
	}
}

// lead makes this the worker process of the file.
func (w *World) lead(g *group, name string) error {
	if w.lock == nil {
		lock, err := w.lockWorker(name)
		if err != nil {
			return err
		}
		w.lock = lock
		w.writer.reserve.make(w.path, w.opt.CheckpointSize, w.opt.allocate)
	}
	return g.workers.takeover()
}
