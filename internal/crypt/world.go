package crypt

// This file wraps a world. What it keeps from everybody above it is who can read what: see commit.go for what goes in, read.go for what comes out.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// World encrypts what goes into a world and decrypts what comes out. What it has no key for it gives as it lies there: events, blocks and rows say that they
// are [world.Event].Sealed. Runs that were begun without a key stay plain.
type World struct {
	world.World
	ring *Keyring

	mu         sync.Mutex
	young, old map[string]known // guarded by mu: the keys of runs

	asked map[string]time.Time // guarded by mu: when the world was asked what the ID of a key stands for
	bound map[string]bool      // guarded by mu: it stands for the one that is here
}

// known is the key of a run, and when that was read.
type known struct {
	key string
	at  time.Time
}

const (
	maxKnown = 16384
	// fresh is how long senders believe what was read of a run that they do not own. Its key never changes, but a chosen ID may be used again when the run was deleted.
	fresh = 30 * time.Second
)

// transacting is a World whose world shares transactions.
type transacting struct {
	*World
	t world.Transactor
}

// Wrap makes the encrypting world. It has the optional methods of w, as far as they show payloads or can be asked of any world.
func Wrap(w world.World, ring *Keyring) world.World {
	c := &World{World: w, ring: ring}
	if t, ok := w.(world.Transactor); ok {
		return &transacting{c, t}
	}
	return c
}

// Unwrap is the world below, which shows payloads as they lie there.
func (w *World) Unwrap() world.World { return w.World }

// Below is the world as it was before it was wrapped, if it was.
func Below(w world.World) world.World {
	if c, ok := w.(interface{ Unwrap() world.World }); ok {
		return c.Unwrap()
	}
	return w
}

// Ring is the keyring of a world that was wrapped; nil: it was not.
func Ring(w world.World) *Keyring {
	switch w := w.(type) {
	case *World:
		return w.ring
	case *transacting:
		return w.ring
	}
	return nil
}

// Notify tells what the world below tells; one that tells nothing is asked from time to time by all who wait.
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	if n, ok := w.World.(world.Notifier); ok {
		return n.Notify(fn)
	}
	return func() {}
}

// Report is of the world below: what it tells of are files and disks.
func (w *World) Report(log *slog.Logger) (stop func()) {
	if r, ok := w.World.(world.Reporter); ok {
		return r.Report(log)
	}
	return func() {}
}

// Held lists what a worker holds, where the world below can tell.
func (w *World) Held(ctx context.Context, worker string) (world.Held, error) {
	h, ok := w.World.(world.Holder)
	if !ok {
		return world.Held{}, fmt.Errorf("what worker %s holds: %w", worker, world.ErrNotFound)
	}
	return h.Held(ctx, worker)
}

// Poll is what the world below says.
func (w *World) Poll() time.Duration {
	if p, ok := w.World.(world.Poller); ok {
		return p.Poll()
	}
	return 0
}

// Time is what the world below says.
func (w *World) Time() time.Time {
	if k, ok := w.World.(world.Timekeeper); ok {
		return k.Time()
	}
	return time.Time{}
}

// Begin begins a transaction.
func (w *transacting) Begin(ctx context.Context) (world.Tx, error) { return w.t.Begin(ctx) }

// CommitIn is Commit within a transaction.
func (w *transacting) CommitIn(ctx context.Context, tx world.Tx, c *world.Commit) (world.Committed, error) {
	sealed, err := w.sealCommit(ctx, c)
	if err != nil {
		return world.Committed{}, err
	}
	done, err := w.t.CommitIn(ctx, tx, sealed)
	return w.openCommitted(c.Run, done, err)
}

// DeliverIn is Deliver within a transaction.
func (w *transacting) DeliverIn(ctx context.Context, tx world.Tx, d *world.Delivery) (world.Delivered, error) {
	sealed, err := w.sealDelivery(ctx, d)
	if err != nil {
		return world.Delivered{}, err
	}
	return w.t.DeliverIn(ctx, tx, sealed)
}

// learn notes the key of a run.
func (w *World) learn(run, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learnLocked(run, known{key, time.Now()})
}

func (w *World) learnLocked(run string, k known) {
	if len(w.young) >= maxKnown {
		w.old, w.young = w.young, nil
	}
	if w.young == nil {
		w.young = make(map[string]known)
	}
	w.young[run] = k
}

// keyOf finds the key of a run; "": it is plain. Its owner may believe what was read long ago.
func (w *World) keyOf(ctx context.Context, run string, owner bool) (string, error) {
	w.mu.Lock()
	k, ok := w.young[run]
	if !ok {
		if k, ok = w.old[run]; ok {
			w.learnLocked(run, k)
		}
	}
	w.mu.Unlock()
	if ok && (owner || time.Since(k.at) < fresh) {
		return k.key, nil
	}
	row, err := w.World.Run(ctx, run)
	if err != nil {
		return "", err
	}
	w.learn(run, row.Encryption)
	return row.Encryption, nil
}

// reachable is the key of a run that something is sent to in passing; one that is not there is none of the sender's business.
func (w *World) reachable(ctx context.Context, run string) (string, error) {
	key, err := w.keyOf(ctx, run, false)
	if errors.Is(err, world.ErrNotFound) {
		return "", nil
	}
	return key, err
}
