package crypt

// This file wraps a world. What it keeps from everybody above it is who can read what: see commit.go for what goes in, read.go for what comes out.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// World encrypts what goes into a world and decrypts what comes out. What it has no key for it gives as it lies there: events, blocks and rows say that they
// are [world.Event].Encrypted. Runs that were begun without a key stay plain.
type World struct {
	world.World
	tx   world.Transactor // of the world below; nil: it has none
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

// Wrap makes the encrypting world. One that encrypts already is encrypted with the new keys alone.
func Wrap(w world.World, ring *keyring.Ring) *World {
	if c, ok := w.(*World); ok {
		w = c.World
	}
	return &World{World: w, tx: w.Abilities().Transactor, ring: Of(ring)}
}

// Abilities are those of the world below; but payloads go through here.
func (w *World) Abilities() world.Abilities {
	a := w.World.Abilities()
	a.Decrypter = w
	if w.tx != nil {
		a.Transactor = transactor{w.tx, w}
	}
	return a
}

// Stored is the world below, which shows payloads as they lie there.
func (w *World) Stored() world.World { return w.World }

// Ring is the keyring of a world that was wrapped; nil: it was not.
func Ring(w world.World) *Keyring {
	if c, ok := w.Abilities().Decrypter.(*World); ok {
		return c.ring
	}
	return nil
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

// keyOf finds the key of a run; "": it is plain. Its owner may believe what was read long ago. In a transaction it is
// read there: the run may have been created in it. That is not remembered, as it may be rolled back.
func (w *World) keyOf(ctx context.Context, tx world.Tx, run string, owner bool) (string, error) {
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
	if tx != nil {
		return w.tx.KeyIn(ctx, tx, run)
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
	key, err := w.keyOf(ctx, nil, run, false)
	if errors.Is(err, world.ErrNotFound) {
		return "", nil
	}
	return key, err
}
