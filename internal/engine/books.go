package engine

// This file compares what the worker holds with what the world says that it holds, where the world says so: behind a server answers get lost, are spoiled, or come
// for a request that was sent twice. What the worker holds and does not know of it hands back; what it does not hold any more it gives up.

import (
	"context"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// books are what the comparison keeps from one heartbeat to the next.
//
// A stray is what the last account had and the worker did not: it may be on its way here with the answer to a claim. If it is still not here when all claims are over
// that had begun when it was first seen, it is nobody's.
type books struct {
	mu     sync.Mutex
	kept   bool               // the last heartbeat came with the world's account; guarded by mu
	doubt  bool               // what the worker holds may be more than it knows of, and no account has come since; guarded by mu
	since  uint64             // heartbeats that had begun then: their accounts may be from before; guarded by mu
	strays map[holding]uint64 // and the claims that had begun when each was first seen; guarded by mu
}

// holding is a run under a claim, or a task as an attempt.
type holding struct {
	run, step string
	number    int64
}

// stranger is a holding that the world's account has and the worker does not.
type stranger struct {
	holding
	last  int64    // number of the run's last event
	owner *session // that has the run; nil: none
}

// none notes that a heartbeat came with no account, though it asked for one, or with one that is not to be compared.
func (b *books) none(heartbeat uint64, asked, kept bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubt, b.kept, b.strays = b.doubt && (!asked || heartbeat <= b.since), kept, nil
}

// sift notes what the account of a heartbeat had that is not here, and returns what of it is nobody's. begun and over
// are of the claims, as they were before that was looked at.
func (b *books) sift(heartbeat uint64, unknown []stranger, begun, over uint64) (lost []stranger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.strays
	b.doubt, b.kept, b.strays = b.doubt && heartbeat <= b.since, true, make(map[holding]uint64, len(unknown))
	for _, u := range unknown {
		claims, again := before[u.holding]
		if !again {
			claims = begun
		}
		b.strays[u.holding] = claims
		if again && claims <= over {
			lost = append(lost, u)
		}
	}
	return lost
}

// open reports whether something is to be found out that the next account shows.
func (b *books) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.doubt || len(b.strays) > 0
}

// keeps reports whether the last heartbeat came with an account.
func (b *books) keeps() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept
}

// doubts notes that the answer to a claim was lost, where accounts come, and reports whether they do. So many heartbeats
// have begun.
func (b *books) doubts(begun uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubt, b.since = b.doubt || b.kept, begun
	return b.kept
}

// doubtsAll has heartbeats ask for accounts until one has shown that nothing is held here that nobody knows of.
func (b *books) doubtsAll(begun uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doubt, b.since = true, begun
}

// audit compares an account that came with a heartbeat, which may have asked for it, with what is known here.
func (e *Engine) audit(ctx context.Context, worker string, heartbeat uint64, asked bool, account *world.Account) {
	if account == nil || e.workerID() != worker {
		e.books.none(heartbeat, asked, account != nil)
		return
	}
	begun, over := e.flights.state() // before it is looked at what is here: what these claims gave is noted then
	for _, u := range e.books.sift(heartbeat, e.holdings.compare(worker, heartbeat, account), begun, over) {
		if u.step != "" && u.owner != nil { // it may hold one that it has not begun, or whose end is not written
			u.owner.box.post(message{kind: msgStray, at: e.clock.now(), step: u.step, attempt: int(u.number)})
			continue
		}
		e.returns.Go(func() { e.handBack(ctx, worker, u.holding, u.last) })
	}
}

// handBack gives up what the worker holds and does not know of: a run by a release, a task as an attempt that was abandoned. Where that fails the next account has it
// again.
func (e *Engine) handBack(ctx context.Context, worker string, h holding, last int64) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Lease)
	defer cancel()
	var err error
	if h.step == "" {
		c := &world.Commit{ID: commitID(), Run: h.run, Worker: worker, Claim: h.number, Build: e.cfg.Build, First: last + 1, Release: &world.Release{WakeAt: e.clock.now()}}
		_, err = e.cfg.World.Commit(ctx, c)
	} else {
		t := &world.Task{Run: h.run, Step: h.step, Attempt: int(h.number)}
		d := e.abandonment(t, e.clock.now(), "the worker never learned that it held it")
		d.Worker = worker
		_, err = e.cfg.World.Deliver(ctx, d)
	}
	if err != nil {
		e.cfg.Logger.Warn("the database says that this worker holds work that it does not know of, and it could not be handed back", "run_id", h.run, "step.id", h.step, "err", err)
		return
	}
	e.cfg.Logger.Info("handed back work that this worker held and did not know of", "run_id", h.run, "step.id", h.step)
	e.kick()
}

// handleStray hands back a task of its own run that the world says this worker holds, unless it is one of the session's own: its start, or its end, may be on the way.
func (w *steps) handleStray(step string, attempt int) {
	if w.bodies.of(step) != nil || w.bodies.isStarting(step) || w.turn.ends(step) {
		return
	}
	if !w.e.holdings.runs(taskKey{w.own.run, step}, attempt) && w.e.workerID() == w.own.worker {
		w.e.handBack(w.e.workCtx, w.own.worker, holding{w.own.run, step, int64(attempt)}, 0)
	}
}

// awaitAccount has the next account come soon, where the world gives any: it shows what a claim gave whose answer was lost. Whether it does the first heartbeat tells.
func (e *Engine) awaitAccount(ctx context.Context) bool {
	if !e.books.keeps() {
		e.heartbeatOnce(ctx)
	}
	kept := e.books.doubts(e.pulse.begun())
	if kept {
		e.pulse.stirs()
	}
	return kept
}
