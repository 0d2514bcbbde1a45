package sqlite

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// worker is one that joined through this World and is alive. Its key and what it said as it joined never change; the
// rest is the crew's.
type worker struct {
	world.Worker
	key   int64
	since time.Time        // when it joined
	until time.Time        // the end of the lease, in steady time: see crew.steadyLocked
	shown time.Time        // and as the file has it
	runs  map[int64]string // it owns, by key
	tasks int              // it was given: at least as many as it holds
	lost  []string         // since the last heartbeat
}

// crew are the workers that joined through this World and are alive, and the clock by which their leases go.
//
//   - As a file has one worker process, leases are decided here. The file shows them to others.
//   - What a transaction does to a worker is noted here once it is committed, and not before.
//   - A system clock that is set back moves nothing back. One that is set forward ends no lease.
type crew struct {
	system func() time.Time // of tests; nil: the system's clock
	came   func()           // a worker has come: called on the writer's goroutine
	gone   func()           // the last one has gone: the same

	leading atomic.Bool  // this is the worker process, and knows all workers that are alive
	ticked  atomic.Int64 // of tick: when the watch looked last, since epoch; 0: nobody watches

	mu      sync.Mutex
	clock   world.Clock
	stepped time.Duration      // by which the system's clock was set forward
	workers map[string]*worker // by ID; guarded by mu, and so is what they have; runs is changed by the writer's goroutine alone
}

func (c *crew) init(system func() time.Time, came, gone func()) {
	c.system, c.came, c.gone, c.workers = system, came, gone, make(map[string]*worker)
}

// leads reports whether this is the worker process, and knows all workers that are alive. lead says so.
func (c *crew) leads() bool { return c.leading.Load() }
func (c *crew) lead()       { c.leading.Store(true) }

// now is the world's clock.
func (c *crew) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nowLocked()
}

func (c *crew) nowLocked() time.Time {
	system := time.Now()
	if c.system != nil {
		system = c.system()
	}
	now, stepped := c.clock.Now(system)
	if c.stepped += stepped; stepped > 0 {
		for _, wk := range c.workers {
			wk.shown = time.Time{} // others would take it for over
		}
	}
	return now
}

func (c *crew) times() (now, steady time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steadyLocked()
}

// steadyLocked is the time by which leases go: now, but for the steps that the system's clock made forward.
func (c *crew) steadyLocked() (now, steady time.Time) {
	now = c.nowLocked()
	return now, now.Add(-c.stepped)
}

// worker returns one that is alive, else nil.
func (c *crew) worker(id string) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers[id]
}

func (c *crew) byKey(key int64) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wk := range c.workers {
		if wk.key == key {
			return wk
		}
	}
	return nil
}

func (c *crew) all() []*worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.workers))
}

// add notes that a worker has joined.
func (c *crew) add(wk *worker) {
	c.mu.Lock()
	c.workers[wk.ID] = wk
	c.mu.Unlock()
	c.came()
}

// remove forgets a worker whose lease is over.
func (c *crew) remove(key int64) {
	wk := c.byKey(key)
	if wk == nil {
		return
	}
	c.mu.Lock()
	delete(c.workers, wk.ID)
	none := len(c.workers) == 0
	c.mu.Unlock()
	if none {
		c.gone()
	}
}

// own notes that a worker owns a run, or does no more.
func (c *crew) own(worker, run int64, id string, owns bool) {
	wk := c.byKey(worker)
	if wk == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if owns {
		wk.runs[run] = id
	} else {
		delete(wk.runs, run)
	}
}

// lose notes that a run was taken from its owner, who is to be told.
func (c *crew) lose(worker int64, id string) {
	if wk := c.byKey(worker); wk != nil {
		c.mu.Lock()
		wk.lost = append(wk.lost, id)
		c.mu.Unlock()
	}
}

// holdsTask notes that a worker was given a task: should it die, others take from then on.
func (c *crew) holdsTask(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wk := c.workers[id]; wk != nil {
		wk.tasks++
	}
}

// lease returns the end of a worker's lease in steady time, and as the file has it.
func (c *crew) lease(wk *worker) (until, shown time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return wk.until, wk.shown
}

// renew prolongs a lease; showed says that the file has it so.
func (c *crew) renew(wk *worker, until time.Time, showed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wk.until = until
	if showed {
		wk.shown = until
	}
}

// idleHeartbeat is the heartbeat of a worker that holds nothing: there is nothing to look up.
func (c *crew) idleHeartbeat(q *world.HeartbeatQuery) (world.Heartbeat, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, steady := c.steadyLocked()
	wk := c.workers[q.Worker]
	if wk == nil || !wk.until.After(steady) || len(wk.runs)+len(wk.lost)+len(q.Tasks) > 0 || q.Account || wk.shown.Sub(steady) < wk.Lease/2 {
		return world.Heartbeat{}, false
	}
	for _, other := range c.workers {
		if other != wk && !other.until.After(steady) {
			return world.Heartbeat{}, false
		}
	}
	wk.until = steady.Add(wk.Lease)
	return world.Heartbeat{Now: now, Until: now.Add(wk.Lease)}, true
}

// lostSince returns the runs that were taken from a worker and that it was not told of, and how many it has.
func (c *crew) lostSince(wk *worker) (lost []string, has int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(lost, wk.lost...), len(wk.runs)
}

// toldLost notes that a worker was told of so many runs that were taken from it.
func (c *crew) toldLost(wk *worker, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wk.lost = wk.lost[min(len(wk.lost), n):]
}

// strays are those of the owned runs that a worker was never given.
func (c *crew) strays(wk *worker, owned map[int64]bool) (strays []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range owned {
		if _, knows := wk.runs[key]; !knows {
			strays = append(strays, key)
		}
	}
	return strays
}

// missing are the runs that a worker has and that are not among the owned ones, or those that it gave up.
func (c *crew) missing(wk *worker, owned, gaveUp map[int64]bool) (keys []int64, ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, id := range wk.runs {
		if !owned[key] && !gaveUp[key] {
			keys, ids = append(keys, key), append(ids, id)
		}
	}
	return keys, ids
}

// disown notes that a worker has some runs no more.
func (c *crew) disown(wk *worker, keys []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		delete(wk.runs, key)
	}
}

// nextEnd is the time to look again: when something is due next, zero for never, or before that the end of the lease of
// another worker that holds something, should it not send a heartbeat until then.
func (c *crew) nextEnd(but *worker, next time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wk := range c.workers {
		if until := wk.until.Add(c.stepped); wk != but && len(wk.runs)+wk.tasks > 0 && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}

// showLeases tells until when leases go, where the file's rows may be a little behind, and the time.
func (c *crew) showLeases(rows []world.WorkerRow) (now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.nowLocked()
	for i := range rows {
		if wk := c.workers[rows[i].ID]; wk != nil {
			rows[i].Until = wk.until.Add(c.stepped)
		}
	}
	return now
}

// forgive prolongs all leases by a time in which no heartbeat could be heard, though whoever sent one lives. What is
// short beside a lease does not count: a disk that is always busy would make leases endless.
func (c *crew) forgive(d time.Duration) {
	if c.system != nil {
		return // a clock of its own passes no time meanwhile
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wk := range c.workers {
		if d >= wk.Lease/forgiven {
			wk.until = wk.until.Add(d)
		}
	}
}

// forgiven is the part of a lease from which a stall counts.
const forgiven = 8

// frozenAfter is how long nothing ran in this process when it is said to have stood still: its watch ticks many times
// a second.
const frozenAfter = time.Second

// epoch is where monotonic times are counted from.
var epoch = time.Now()

// tick is called many times a second while a worker is here. Where it was not, the process was stopped or starved: its
// own workers are not dead for that, and no other process could have taken what they hold.
func (c *crew) tick() {
	now := time.Since(epoch)
	if before := time.Duration(c.ticked.Swap(int64(now))); before > 0 && now-before > frozenAfter {
		c.forgive(now - before)
	}
}

// watch begins or ends the time in which tick is called.
func (c *crew) watch(begins bool) {
	now := int64(0)
	if begins {
		now = int64(time.Since(epoch))
	}
	c.ticked.Store(now)
}

// watched reports whether there is such a time: the bell is listened to.
func (c *crew) watched() bool { return c.ticked.Load() > 0 }

// frozen reports whether the process stood still until a moment ago, and tick has not noticed yet.
func (c *crew) frozen() bool {
	before := time.Duration(c.ticked.Load())
	return c.system == nil && before > 0 && time.Since(epoch)-before > frozenAfter
}

// expired returns the keys of workers, but one, whose lease has run out: none where the whole process has stood still
// until just now.
func (c *crew) expired(steady time.Time, but string) (keys []int64) {
	if c.frozen() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wk := range c.workers {
		if wk.ID != but && !wk.until.After(steady) {
			keys = append(keys, wk.key)
		}
	}
	return keys
}
