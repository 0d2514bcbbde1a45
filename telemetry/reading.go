package telemetry

// This file reads the database when metrics are asked for, but not more often than it is told to.

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const readTime = 5 * time.Second // for a reading

// reading is what was read last, for who asks again soon.
type reading[T any] struct {
	every time.Duration
	log   *slog.Logger
	what  string // is read
	read  func(context.Context) (T, error)

	mu   sync.Mutex
	at   time.Time // when it was read last; guarded by mu, as what follows
	last T
	fine bool
}

// now is the last reading, or a new one; ok is false where the database did not answer in 5 s. Those who come meanwhile wait for that.
func (r *reading[T]) now() (last T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < r.every {
		return r.last, r.fine
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	last, err := r.read(ctx)
	if err != nil && (r.fine || r.at.IsZero()) {
		r.log.Warn("metrics could not be read, and are left out until they can: "+r.what, "err", err)
	}
	r.at, r.last, r.fine = time.Now(), last, err == nil
	return r.last, r.fine
}
