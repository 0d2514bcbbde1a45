package postgres

import (
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// unknowns are commits whose answers were lost.
//
//   - One is here before anybody is told that its outcome is not known: what is asked or tried of it then is told apart
//     from what others did.
//   - It stays for an hour at least, and not for ever.
type unknowns struct {
	mu sync.Mutex
	at map[[16]byte]time.Time // when the answer was lost; guarded by mu
}

// keepUnknown is how long a commit is known for one whose answer was lost.
const keepUnknown = time.Hour

// note notes that the answers to commits were lost.
func (u *unknowns) note(commits ...*world.Commit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for id, at := range u.at {
		if now.Sub(at) > keepUnknown {
			delete(u.at, id)
		}
	}
	if u.at == nil {
		u.at = make(map[[16]byte]time.Time)
	}
	for _, c := range commits {
		u.at[c.ID] = now
	}
}

// has reports whether the answer to a commit was lost before.
func (u *unknowns) has(c *world.Commit) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.at[c.ID]
	return ok
}
