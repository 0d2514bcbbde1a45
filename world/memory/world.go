// Package memory is the reference store: it keeps runs in this process's memory. They are lost with
// the process.
//
// Use it for tests and small tools, and as the example for a store of your own: it is one mutex,
// maps and heaps. It starts no goroutine and reads the clock with time.Now, so it works inside a
// testing/synctest bubble.
package memory

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Options configure a World. The zero value has the defaults.
type Options struct {
	InboxLimit int // unread payloads of a run, at most; default 10,000
	// KeepDeliveries is how long a delivery ID is known at least; default 24 h. See
	// [world.Delivery.Key].
	KeepDeliveries time.Duration
	Now            func() time.Time // the clock, for tests; default a [world.Clock] on the system's
}

// World is a store in memory. It is safe for concurrent use.
type World struct {
	listeners world.Listeners
	opt       Options

	mu      sync.Mutex
	closed  bool
	clock   world.Clock
	runs    map[string]*run
	created []birth // in order of birth
	swept   int     // of those in created
	runKey  int64   // of the run that was created last
	keys    map[idempotencyKey]*run
	tokens  map[string]*hook   // of active hooks
	ends    map[string][]*hook // the hooks that had a token and are over, in the order of their ends
	workers map[string]*worker
	prints  map[string][]byte // of encryption keys, by ID
	said    said
	apart   apart
	metrics map[string]kept // of processes, by their IDs

	messages  messages
	topics    topics
	schedules schedules
	limits    limits

	partitions     map[world.Class]*[rules.Priorities]*partition // runs, by class
	cancels        map[world.Class]*[rules.Priorities]*partition // runs with a cancel in the inbox that any worker may have, by class
	taskPartitions map[string][]*partition                       // tasks, by step name; one for each workflow and priority
	fairness       rules.Fairness
	ended          partition         // runs that are over and will be swept, by that time
	trims          map[*run]struct{} // runs that have segments which are not wanted any more
	crowds         map[*run]struct{} // runs that may know of more deliveries than they need

	row      int64  // of the last mail or task
	head     []byte // for encoding one row
	body     []byte
	counters world.Counters
	rowsRead atomic.Int64
}

// birth is a run's place in the list of runs, which outlives the run for a while.
type birth struct {
	key int64
	run *run // nil: it was swept
}

type idempotencyKey struct{ workflow, key string }

var _ world.World = (*World)(nil)

// Abilities returns what the store can do besides [world.World].
func (w *World) Abilities() world.Abilities { return world.Abilities{Timekeeper: w} }

// New returns an empty store.
func New(options ...Options) *World {
	w := &World{
		ends:           make(map[string][]*hook),
		crowds:         make(map[*run]struct{}),
		runs:           make(map[string]*run),
		keys:           make(map[idempotencyKey]*run),
		tokens:         make(map[string]*hook),
		workers:        make(map[string]*worker),
		partitions:     make(map[world.Class]*[rules.Priorities]*partition),
		cancels:        make(map[world.Class]*[rules.Priorities]*partition),
		taskPartitions: make(map[string][]*partition),
		trims:          make(map[*run]struct{}),
	}
	w.messages.w, w.topics.w, w.schedules.w, w.limits.w, w.said.starts.w, w.said.gathers.w, w.limits.singles.w = w, w, w, w, w, w, w
	if len(options) > 0 {
		w.opt = options[0]
	}
	if w.opt.InboxLimit <= 0 {
		w.opt.InboxLimit = 10_000
	}
	if w.opt.KeepDeliveries <= 0 {
		w.opt.KeepDeliveries = world.KeepDeliveries
	}
	if w.opt.Now == nil {
		w.opt.Now = time.Now
	}
	return w
}

// Close closes the store: later calls return [world.ErrClosed]. Closing twice is harmless.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return nil
}

// tries is how often enter lets others run before it waits for the lock. Calls hold it for a microsecond or two, but whoever waits in a queue for a
// sync.Mutex is handed it through the scheduler's queue, behind all that can run: with 32 runs at a time a third of both processors idled.
const tries = 20

// enter locks the world for one call. On an error it is not locked.
func (w *World) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	for try := 0; !w.mu.TryLock(); try++ {
		if try == tries {
			w.mu.Lock()
			break
		}
		runtime.Gosched()
	}
	if w.closed {
		w.mu.Unlock()
		return world.ErrClosed
	}
	return nil
}

// now is the world's clock. A system clock that steps back moves nothing back, and one that steps forward ends no lease.
func (w *World) now() time.Time {
	now, stepped := w.clock.Now(w.opt.Now())
	if stepped > 0 {
		for _, wk := range w.workers {
			wk.until = wk.until.Add(stepped)
		}
	}
	return now
}

// Time returns the time of the store's clock; see [world.Timekeeper].
func (w *World) Time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now()
}
