package faults

// This file holds the methods of a world, each with its failpoints or without.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Abilities are those of the world below. But as notices may be dropped here nobody may rely on them, and transactions, which
// have no failpoints, would pass them all by.
func (w *World) Abilities() world.Abilities {
	a := w.able
	a.Poller, a.Transactor = nil, nil
	if a.Notifier != nil {
		a.Notifier = w
	}
	if a.Holder != nil {
		a.Holder = w
	}
	if a.ApartKeeper != nil {
		a.ApartKeeper = apartKeeper{a.ApartKeeper, w}
	}
	return a
}

// Commit has failpoints; see [world.Log].
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return through(ctx, w, Call{Op: Commit, Commit: c}, func() (world.Committed, error) { return w.World.Commit(ctx, c) })
}

// Deliver has failpoints; see [world.Log].
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	return through(ctx, w, Call{Op: Deliver, Delivery: d}, func() (world.Delivered, error) {
		sent := *d
		sent.Events = slices.Clone(d.Events)
		return w.World.Deliver(ctx, &sent)
	})
}

// Claim has failpoints; see [world.Queue].
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	return through(ctx, w, Call{Op: Claim}, func() (world.Claimed, error) { return w.World.Claim(ctx, q) })
}

// Heartbeat has failpoints; see [world.Queue].
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	return through(ctx, w, Call{Op: Heartbeat}, func() (world.Heartbeat, error) { return w.World.Heartbeat(ctx, q) })
}

// Append has failpoints; see [world.Streams].
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	return through(ctx, w, Call{Op: Append, Append: a}, func() (world.Appended, error) { return w.World.Append(ctx, a) })
}

// Join notes who joined; see [world.Queue].
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	if err := w.alive(); err != nil {
		return world.Heartbeat{}, err
	}
	b, err := w.World.Join(ctx, wk)
	if err == nil {
		w.mu.Lock()
		w.worker = wk.ID
		w.mu.Unlock()
	}
	return b, err
}

// Leave fails for the dead; see [world.Queue].
func (w *World) Leave(ctx context.Context, worker string) error {
	if err := w.alive(); err != nil {
		return err
	}
	return w.World.Leave(ctx, worker)
}

// Held fails for the dead; see [world.Holder].
func (w *World) Held(ctx context.Context, worker string) (world.Account, error) {
	if err := w.alive(); err != nil {
		return world.Account{}, err
	}
	return w.able.Holder.Held(ctx, worker)
}

// Outcome fails for the dead; see [world.Log].
func (w *World) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := w.alive(); err != nil {
		return world.Committed{}, err
	}
	return w.World.Outcome(ctx, c)
}

// Events fails for the dead; see [world.Log].
func (w *World) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	if err := w.alive(); err != nil {
		return world.EventPage{}, err
	}
	return w.World.Events(ctx, run, q)
}

// Sweep fails for the dead; see [world.Admin].
func (w *World) Sweep(ctx context.Context, limit int) (int, error) {
	if err := w.alive(); err != nil {
		return 0, err
	}
	return w.World.Sweep(ctx, limit)
}

// Notify passes notices on, but for those that are dropped; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	keep := w.notices
	stop = w.able.Notifier.Notify(func(n world.Notice) {
		if (keep == nil || keep(n)) && w.alive() == nil {
			fn(n)
		}
	})
	w.mu.Lock()
	w.stops = append(w.stops, stop)
	w.mu.Unlock()
	return stop
}
