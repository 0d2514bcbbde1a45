package courier

// This file is what a program does with messages that are encrypted with keys that it has not, as a server has none.

import (
	"sync"
	"time"
)

// keyless leaves such messages to those who have their keys. One is ready again at once, and the program receives
// nothing for a while, so that it does not have it again. Where it then finds one that was left before, nobody has
// taken that meanwhile: from then on each rests, so that those behind it that can be read get by.
type keyless struct {
	mu    sync.Mutex
	away  time.Time // until then nothing is received; guarded by mu
	alone time.Time // until then nobody else seems to take what is left; guarded by mu
}

// rest is how long a message rests that cannot be read here; left: it was met and left before.
func (k *keyless) rest(left bool) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if left {
		k.alone = now.Add(2 * unknownPause)
	}
	if now.Before(k.alone) {
		return unknownPause
	}
	k.away = now.Add(unknownPause)
	return 0
}

// room is how many messages may be received; see [Consumer].
func (k *keyless) room(most int) (n int, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait = time.Until(k.away); wait > 0 {
		return 0, wait
	}
	return most, 0
}
