package server

// This file binds remote workers to the keys that they joined with: nobody else speaks for them.

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// joined remembers with which key workers joined. The name that a worker is kept under says it too, so that it is known behind a restart, and to the other
// processes of a server.
type joined struct {
	mu   sync.Mutex
	keys map[string]string // by worker, the key's name; guarded by mu
}

// mostJoined is how many are remembered. Others are looked up.
const mostJoined = 10_000

func (j *joined) set(worker, key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keys == nil || len(j.keys) >= mostJoined {
		j.keys = map[string]string{}
	}
	j.keys[worker] = key
}

func (j *joined) get(worker string) (key string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key, ok = j.keys[worker]
	return key, ok
}

func (j *joined) forget(worker string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.keys, worker)
}

// Behind the name of a worker that joined with a key stands the key's.
const (
	withKey    = " (key "
	withKeyEnd = ")"
)

func nameWithKey(name, key string) string { return name + withKey + key + withKeyEnd }

// keyOfName is the key in the name of a worker; "": none.
func keyOfName(name string) string {
	rest, ok := strings.CutSuffix(name, withKeyEnd)
	i := strings.LastIndex(rest, withKey)
	if !ok || i < 0 {
		return ""
	}
	return rest[i+len(withKey):]
}

// guard says what the key of a remote worker or client may do beside its scope.
//
//   - Nobody speaks for a worker but with the key that it joined with.
//   - What a limited key reads, writes and is given is of its own workflows and steps.
type guard struct {
	below  world.World
	joined joined
}

// joins notes with which key a worker joined, and leaves that it has left.
func (g *guard) joins(worker, key string) { g.joined.set(worker, key) }
func (g *guard) leaves(worker string)     { g.joined.forget(worker) }

// mayActFor refuses who speaks for a worker that joined with another key. One that is not known, as it has left or died, the world refuses.
func (g *guard) mayActFor(r *request, worker string) error {
	if len(worker) > world.MaxRunID {
		return invalid("a worker ID of %d bytes: want %d at most", len(worker), world.MaxRunID)
	}
	if r.key == nil || worker == "" {
		return nil
	}
	key, ok := g.joined.get(worker)
	if !ok {
		var err error
		if key, ok, err = g.lookUp(r.Context(), worker); err != nil || !ok {
			return err
		}
	}
	switch key {
	case r.key.Name:
		return nil
	case "":
		return fmt.Errorf("worker %.100q joined without a key, and must join again: %w", worker, world.ErrLeaseLost)
	}
	return fmt.Errorf("%w: worker %.100q joined with another", errScope, worker)
}

func (g *guard) lookUp(ctx context.Context, worker string) (key string, ok bool, err error) {
	stats, err := g.below.Stats(ctx)
	if err != nil {
		return "", false, err
	}
	for i := range stats.Workers {
		if w := &stats.Workers[i]; w.ID == worker {
			key = keyOfName(w.Name)
			g.joined.set(worker, key)
			return key, true, nil
		}
	}
	return "", false, nil
}
