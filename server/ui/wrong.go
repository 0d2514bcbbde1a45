package ui

// This file makes wrong keys slow: after some of an address, each one makes the next wait longer.

import (
	"sync"
	"time"
)

const (
	freeTries  = 5 // wrong keys of an address without a wait
	mostWait   = 30 * time.Second
	mostWrongs = 4096 // addresses that are remembered
	forgotten  = 15 * time.Minute
)

// wrongKeys are the addresses that have shown wrong keys.
type wrongKeys struct {
	mu sync.Mutex
	by map[string]wrongKey
}

type wrongKey struct {
	tries int
	last  time.Time
}

// until is when the address may try again.
func (w wrongKey) until() time.Time {
	if w.tries <= freeTries {
		return w.last
	}
	return w.last.Add(min(time.Second<<min(w.tries-freeTries-1, 10), mostWait))
}

// wait is how long an address has to wait before it may try a key; 0: not at all.
func (k *wrongKeys) wait(from string, now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(k.by[from].until().Sub(now), 0)
}

// note remembers whether a key was right.
func (k *wrongKeys) note(from string, right bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if right {
		delete(k.by, from)
		return
	}
	if len(k.by) >= mostWrongs {
		for addr, w := range k.by {
			if now.Sub(w.last) > forgotten {
				delete(k.by, addr)
			}
		}
		for addr := range k.by { // whichever: it takes many addresses to come here
			if len(k.by) < mostWrongs {
				break
			}
			delete(k.by, addr)
		}
	}
	if k.by == nil {
		k.by = map[string]wrongKey{}
	}
	w := k.by[from]
	if now.Sub(w.last) > forgotten {
		w.tries = 0
	}
	k.by[from] = wrongKey{w.tries + 1, now}
}
