package wdk

// This file has ended runs of the DevKit kept no longer than others.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	defaultKept = 365 * 24 * time.Hour // where nobody says how long
	freshKept   = 10 * time.Second
)

// kept is how long ended runs are kept at most, as the database says it.
type kept struct {
	mu    sync.Mutex
	read  time.Time     // zero: not yet; guarded by mu
	limit time.Duration // guarded by mu
}

// kept is the retention of a run that begins now; 0: for ever.
func (h *Host) kept(ctx context.Context) (time.Duration, error) {
	h.keeps.mu.Lock()
	defer h.keeps.mu.Unlock()
	if h.keeps.read.IsZero() || time.Since(h.keeps.read) > freshKept {
		limit, _, err := h.world.LimitRetention(ctx, 0, false)
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			return 0, err
		}
		h.keeps.read, h.keeps.limit = time.Now(), limit
	}
	switch {
	case h.keeps.limit < 0:
		return 0, nil
	case h.keeps.limit == 0:
		return defaultKept, nil
	}
	return h.keeps.limit, nil
}
