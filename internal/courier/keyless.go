package courier

// This file is what a program does with messages that are encrypted with keys that it has not, as a server has none.

import (
	"sync"
	"time"
)

// keyless leaves such messages to those who have their keys. One is ready again at once, and the program receives
// nothing for a while, so that others have it. Where it then finds one that was left before, there may be nobody: it
// sweeps. For a short time all that it cannot read rests, so that what is behind that gets by; then it keeps away
// again.
type keyless struct {
	mu    sync.Mutex
	sweep time.Time // until then what cannot be read rests; guarded by mu
	away  time.Time // from the sweep until then nothing is received; guarded by mu
}

// sweepTime is how long a sweep lasts.
const sweepTime = 5 * time.Second

// rest is how long a message rests that cannot be read here; left: it was met and left before.
func (k *keyless) rest(left bool) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if now.Before(k.away) { // it may have been received before that
		return max(k.sweep.Sub(now), 0)
	}
	k.sweep = now
	if left {
		k.sweep = now.Add(sweepTime)
	}
	k.away = k.sweep.Add(unknownPause)
	return k.sweep.Sub(now)
}

// room is how many messages may be received; see [Consumer].
func (k *keyless) room(most int) (n int, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait = time.Until(k.away); wait > 0 && time.Until(k.sweep) <= 0 {
		return 0, wait
	}
	return most, 0
}
