package postgres

import (
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// crew are the workers that joined here and were not found dead, and the runs that they own, as this World believes.
//
//   - It is memory alone. What rests on it is checked in the database, by the lane of the worker and the row of the
//     run.
//   - A run is here only with an owner that is here: who forgets a worker forgets its runs.
//   - What is known of a run is never changed, but replaced; so whoever has got it may read it.
type crew struct {
	db      *database
	changed func() // workers have come or gone

	mu      sync.Mutex
	runs    map[string]*run    // by ID; guarded by mu
	workers map[string]*worker // by ID; guarded by mu, and so is what they say of their leases
}

func (c *crew) init(db *database, changed func()) {
	c.db, c.changed, c.runs, c.workers = db, changed, make(map[string]*run), make(map[string]*worker)
}

// freshFor is the part of a lease, one in so many, for which it counts as just renewed.
const freshFor = 20

// worker returns what joined here under an ID and was not found dead, else nil.
func (c *crew) worker(id string) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers[id]
}

// forget ends what this World knows of a worker that is dead or gone.
func (c *crew) forget(wk *worker) {
	defer c.changed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(wk)
}

func (c *crew) forgetLocked(wk *worker) {
	if c.workers[wk.ID] == wk {
		delete(c.workers, wk.ID)
	}
	for id, r := range c.runs {
		if r.owner == wk.key {
			delete(c.runs, id)
		}
	}
}

// owned returns what is known of a run that a worker of this World owns, else nil. It must not be changed.
func (c *crew) owned(id string) *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[id]
}

// ownLocked notes that a worker of this World owns a run, or what became of such a run. c.mu is locked.
func (c *crew) ownLocked(r *run) { c.runs[r.id] = r }

// disownLocked notes that no worker of this World owns a run any more, unless a later claim gave it back. c.mu is
// locked.
func (c *crew) disownLocked(r *run) {
	if known := c.runs[r.id]; known != nil && known.claim <= r.claim {
		delete(c.runs, r.id)
	}
}

// ownedBy lists the runs that a worker owns, as far as this World knows.
func (c *crew) ownedBy(wk *worker) (mine []*run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		if r.owner == wk.key {
			mine = append(mine, r)
		}
	}
	return mine
}

// stale reports whether the database believes in the lease of a worker for less long than is safe for one that is about
// to own something: it is to be renewed in the same transaction.
func (c *crew) stale(wk *worker) bool {
	now := c.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return wk.shown.Before(wk.told) || wk.shown.Sub(now) < wk.Lease/2
}

// fresh returns the end of a lease that was renewed a moment ago; zero where it was not.
func (c *crew) fresh(wk *worker) time.Time {
	now := c.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	left := wk.shown.Sub(now)
	if wk.shown.Before(wk.told) || left < wk.Lease-wk.Lease/freshFor || left > wk.Lease+mostBack { // more is left where the database's clock was set back
		return time.Time{}
	}
	return wk.shown
}

// renewed notes that the lease of a worker was renewed by a transaction that was sent at a time of the database's
// clock.
func (c *crew) renewed(wk *worker, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := sent.Add(wk.Lease); until.After(wk.shown) {
		wk.shown = until
	}
}

// idleHeartbeat is the heartbeat of a worker that holds nothing: there is nothing to ask for, but for a sign of life
// now and then.
func (c *crew) idleHeartbeat(wk *worker, now time.Time, holds int) (world.Heartbeat, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := now.Add(wk.Lease)
	if holds > 0 || !wk.told.After(now) || until.After(wk.shown.Add(idleGrace-graceMargin)) {
		return world.Heartbeat{}, false
	}
	wk.told = until
	return world.Heartbeat{Now: now, Until: until}, true
}

// know remembers a worker, unless it is known, and forgets those that have gone to other servers.
func (c *crew) know(wk *worker) *worker {
	now := c.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.workers[wk.ID]; known != nil {
		return known
	}
	for _, other := range c.workers {
		if other.Remote && now.Sub(other.told) > other.Lease {
			c.forgetLocked(other)
		}
	}
	c.workers[wk.ID] = wk
	c.changed()
	return wk
}

// local are the keys of the workers that live in this process.
func (c *crew) local() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]int64, 0, len(c.workers))
	for _, wk := range c.workers {
		if !wk.Remote {
			keys = append(keys, wk.key)
		}
	}
	return keys
}

// works reports whether there are workers here.
func (c *crew) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.workers) > 0
}

// keepOnlyLocked forgets which runs a worker that lives elsewhere has had, of some that it was known to own: it gave
// them up through another server. c.mu is locked.
func (c *crew) keepOnlyLocked(before []*run, owned []world.OwnedRun) {
	claims := make(map[string]int64, len(owned))
	for _, o := range owned {
		claims[o.Run] = o.Claim
	}
	for _, r := range before {
		if claims[r.id] != r.claim {
			c.disownLocked(r)
		}
	}
}

// adopt notes that a worker here owns a run from now on.
func (c *crew) adopt(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ownLocked(r)
}

// learn notes what became of a run that a worker here had, as the database has it.
func (c *crew) learn(wk *worker, r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wk != nil && r.live && r.owner == wk.key {
		c.ownLocked(r)
	} else {
		c.disownLocked(r)
	}
}

// settle follows commits that are durable, in their order. left is called for each run that was given up.
func (c *crew) settle(drafts []*draft, left func(*run)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range drafts {
		for _, r := range d.own {
			if r.owner != 0 {
				c.ownLocked(r)
			}
		}
		for _, r := range d.gone {
			if c.disownLocked(r); r.live {
				left(r)
			}
		}
	}
}

// afterHeartbeat follows a heartbeat that renewed a lease. Of the runs that the worker had, those in over are not its
// own any more: they are forgotten, and told.
func (c *crew) afterHeartbeat(wk *worker, until time.Time, mine []*run, over map[int64]bool, a *world.Account) (lost []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wk.told, wk.shown = until, until
	for _, r := range mine { // what is over and was not ended here: an operator did it
		if known := c.runs[r.id]; over[r.key] && known != nil && known.key == r.key && known.claim == r.claim {
			delete(c.runs, r.id)
			lost = append(lost, r.id)
		}
	}
	if wk.Remote && a != nil {
		c.keepOnlyLocked(mine, a.Runs)
	}
	return lost
}
