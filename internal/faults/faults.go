// Package faults puts failpoints around a world: before and after each call that changes something, a plan may crash the
// caller, lose the answer, refuse the call, hold it up, or make it twice; and it may drop notices.
//
// A plan is a function of the call, so that the same calls meet the same faults. What depends on chance comes from a seed: see [Random].
package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Op names a kind of call.
type Op string

// The calls that have failpoints.
const (
	Commit    Op = "commit"
	Deliver   Op = "deliver"
	Claim     Op = "take"
	Heartbeat Op = "beat"
	Append    Op = "append" // of chunks to a stream, while their writer goes on
	Piece     Op = "piece"  // of a value that is kept apart
)

// Ops lists all of them.
var Ops = []Op{Commit, Deliver, Claim, Heartbeat, Append, Piece}

// Call is a call that is about to be made.
type Call struct {
	Op       Op
	N        int             // the number of this call among those of the same Op on this [World], from 1
	Commit   *world.Commit   // of a commit
	Delivery *world.Delivery // of a delivery
	Append   *world.Append   // of an append
}

// Fault is what happens at one call. The zero Fault is nothing.
type Fault struct {
	Before func()        // is called before the world is; it may crash the process, or send something meanwhile
	After  func()        // is called when the world has answered, before the caller hears of it
	Delay  time.Duration // the call is held up so long before it is made
	Late   time.Duration // the answer is held up so long
	Err    error         // the caller gets this error; the call is not made
	Lost   bool          // with Err: the call is made all the same, and its answer is lost
	Twice  bool          // the call is made a second time, and that answer is lost
}

// Schedule decides what happens at a call. It is called by one goroutine at a time.
type Schedule func(Call) Fault

// World is a [world.World] with failpoints. It is safe for concurrent use.
type World struct {
	world.World             // whose calls go through around
	below       world.World // whose answers they get
	plan        Schedule
	notices     func(world.Notice) bool

	mu      sync.Mutex
	calls   map[Op]int // guarded by mu
	worker  string     // guarded by mu: the last that joined
	dead    error      // guarded by mu
	unheard int        // guarded by mu; see Unheard
	stops   []func()   // guarded by mu: end the notifications
}

// New puts failpoints around a world. A nil plan has no faults.
func New(w world.World, plan Schedule) *World {
	if plan == nil {
		plan = func(Call) Fault { return Fault{} }
	}
	out := &World{below: w, plan: plan, calls: map[Op]int{}}
	out.World = world.Intercept(copies{w}, out.around)
	return out
}

// copies gives the world below a copy of each delivery: one that is made twice is the same the second time.
type copies struct{ world.World }

func (w copies) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	sent := *d
	sent.Events = slices.Clone(d.Events)
	return w.World.Deliver(ctx, &sent)
}

// KeepNotices drops the notices for which keep is false. It must be called before the first Notify.
func (w *World) KeepNotices(keep func(world.Notice) bool) { w.notices = keep }

// Kill makes every later call, of every method, fail with [world.ErrClosed], and ends notifications: for the world below, whoever uses
// this World has died. Calls under way go on.
func (w *World) Kill() {
	w.mu.Lock()
	stops := w.stops
	w.stops, w.dead = nil, fmt.Errorf("killed by a fault: %w", world.ErrClosed)
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// Evict ends the lease of the worker that joined last, behind its back: it has lost all that it owned, and does not know it yet.
func (w *World) Evict(ctx context.Context) error {
	w.mu.Lock()
	id := w.worker
	w.mu.Unlock()
	return w.below.Leave(ctx, id)
}

// Worker is the ID under which the caller joined last; "" before that.
func (w *World) Worker() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.worker
}

// Calls counts the calls of a kind so far.
func (w *World) Calls(op Op) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[op]
}

// Unheard counts the calls that were under way at the death, were done below, and were not answered.
func (w *World) Unheard() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unheard
}

func (w *World) alive() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// heard is what a caller is told who may have died meanwhile, where the call below ended with err.
func (w *World) heard(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil && err == nil {
		w.unheard++
	}
	return w.dead
}

// begin counts the call and asks the plan.
func (w *World) begin(c Call) (Fault, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead != nil {
		return Fault{}, w.dead
	}
	w.calls[c.Op]++
	c.N = w.calls[c.Op]
	return w.plan(c), nil
}

// failpoints are the methods that have failpoints.
var failpoints = map[string]Op{
	"Commit": Commit, "Deliver": Deliver, "Claim": Claim, "Heartbeat": Heartbeat, "Append": Append,
	"Values.KeepPiece": Piece, "Values.DropValue": Piece,
}

// around makes a call, as the plan wants it if it has a failpoint. Each method fails for the dead, except Close.
func (w *World) around(ctx context.Context, c world.Call, next world.Next) (any, error) {
	if op := failpoints[c.Method]; op != "" {
		return w.through(ctx, callOf(op, c), next)
	}
	if err := w.alive(); err != nil && c.Method != "Close" {
		return nil, err
	}
	answer, err := next(ctx)
	if c.Method == "Join" && err == nil {
		w.mu.Lock()
		w.worker = c.Args[0].(world.Worker).ID
		w.mu.Unlock()
	}
	return answer, err
}

func callOf(op Op, c world.Call) Call {
	out := Call{Op: op}
	switch arg := c.Args[0].(type) {
	case *world.Commit:
		out.Commit = arg
	case *world.Delivery:
		out.Delivery = arg
	case *world.Append:
		out.Append = arg
	}
	return out
}

// through makes a call with what the plan wants.
func (w *World) through(ctx context.Context, c Call, next world.Next) (answer any, err error) {
	f, err := w.begin(c)
	if err != nil {
		return nil, err
	}
	if f.Before != nil {
		f.Before()
	}
	if err := hold(ctx, f.Delay); err != nil {
		return nil, err
	}
	if err := w.alive(); err != nil { // Before may have killed it
		return nil, err
	}
	if f.Err == nil || f.Lost {
		answer, err = next(ctx)
		if f.Twice {
			_, _ = next(ctx) // its answer is lost: that is the point
		}
	}
	if f.After != nil {
		f.After()
	}
	if late := hold(ctx, f.Late); late != nil && err == nil {
		err = late
	}
	if dead := w.heard(err); dead != nil {
		err = dead
	} else if f.Err != nil {
		err = fmt.Errorf("%s: a fault: %w", c.Op, f.Err)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Abilities are those of the world below. But nobody may rely on notices, as they may be dropped here, and transactions
// would pass the failpoints by.
func (w *World) Abilities() world.Abilities {
	a := w.below.Abilities()
	a.Poller, a.Transactor = nil, nil
	return a
}

// Notify passes notices on, but for those that are dropped; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	keep := w.notices
	stop = w.below.Notify(func(n world.Notice) {
		if (keep == nil || keep(n)) && w.alive() == nil {
			fn(n)
		}
	})
	w.mu.Lock()
	w.stops = append(w.stops, stop)
	w.mu.Unlock()
	return stop
}

// hold waits, unless the context ends.
func hold(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
