package engine

// This file compares what the worker holds with what the world says that it holds, where the world says so: behind a server answers get lost, are spoiled, or come
// for a request that was sent twice. What the worker holds and does not know of it hands back; what it does not hold any more it gives up.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// books are what the comparison keeps from beat to beat.
type books struct {
	kept   bool              // the last beat came with the world's account
	doubt  bool              // the answer to a take was lost, and no account has come since
	takes  uint64            // that have begun
	flying map[uint64]bool   // of these, what they gave is not known yet, or not noted
	strays map[holding]stray // what the last account has and the worker does not
}

// holding is a run under a take, or a task as an attempt.
type holding struct {
	run, step string
	number    int64
}

// stray is a holding that the worker does not know of.
type stray struct {
	takes uint64 // that had begun when it was first seen
	last  int64  // number of the run's last event
}

// taking notes that a take begins. noted is to be called when what it gave is noted.
func (e *Engine) taking() (noted func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.books.flying == nil {
		e.books.flying = map[uint64]bool{}
	}
	e.books.takes++
	n := e.books.takes
	e.books.flying[n] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.books.flying, n)
	}
}

// overUntil reports whether all takes up to a number are over.
func (b *books) overUntil(n uint64) bool {
	for flying := range b.flying {
		if flying <= n {
			return false
		}
	}
	return true
}

// audit compares an account that came with a beat with what is known here. A run or task that it has and that is not known may be on its way here with the answer to a
// take; if it is still not known when all takes are over that had begun when it was first seen, it is nobody's.
func (e *Engine) audit(ctx context.Context, worker string, beat uint64, account *world.Account) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := &e.books
	b.doubt = false
	if b.kept = account != nil; !b.kept || e.workerID() != worker {
		b.strays = nil
		return
	}
	before := b.strays
	b.strays = map[holding]stray{}
	see := func(h holding, last int64) {
		s, again := before[h]
		if !again {
			s.takes = b.takes
		}
		s.last = last
		b.strays[h] = s
		switch owner := e.owned[h.run]; {
		case !again || !b.overUntil(s.takes):
		case h.step != "" && owner != nil: // it may hold one that it has not begun, or whose end is not written
			owner.box.post(message{kind: msgStray, at: e.now(), step: h.step, attempt: int(h.number)})
		default:
			e.returns.Go(func() { e.handBack(ctx, worker, h, last) })
		}
	}
	mine := make(map[string]int64, len(account.Runs))
	for _, r := range account.Runs {
		mine[r.Run] = r.Take
		if s := e.owned[r.Run]; s == nil || s.take != r.Take || s.worker != worker {
			see(holding{r.Run, "", r.Take}, r.Last)
		} else {
			s.listed = true
		}
	}
	for _, k := range account.Tasks {
		if t := e.tasks[taskKey{k.Run, k.Step}]; t == nil || t.attempt != k.Attempt {
			see(holding{k.Run, k.Step, int64(k.Attempt)}, 0)
		}
	}
	for run, s := range e.owned {
		if take, ok := mine[run]; s.listed && s.heard < beat && s.worker == worker && (!ok || take != s.take) {
			s.box.post(message{kind: msgLost})
		}
	}
}

// handBack gives up what the worker holds and does not know of: a run by a release, a task as an attempt that was abandoned. Where that fails the next account has it
// again.
func (e *Engine) handBack(ctx context.Context, worker string, h holding, last int64) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Lease)
	defer cancel()
	var err error
	if h.step == "" {
		c := &world.Commit{ID: commitID(), Run: h.run, Worker: worker, Take: h.number, Build: e.cfg.Build, First: last + 1, Release: &world.Release{WakeAt: e.now()}}
		_, err = e.cfg.World.Commit(ctx, c)
	} else {
		t := &world.Task{Run: h.run, Step: h.step, Attempt: int(h.number)}
		d := e.abandonment(t, e.now(), "its worker never heard that it was given it")
		d.Worker = worker
		_, err = e.cfg.World.Deliver(ctx, d)
	}
	if err != nil {
		e.cfg.Logger.Warn("the world says that this worker holds what it does not know of, and it was not handed back", "run_id", h.run, "step.id", h.step, "err", err)
		return
	}
	e.cfg.Logger.Info("handed back what this worker held and did not know of", "run_id", h.run, "step.id", h.step)
	e.kick()
}

// handleStray hands back a task of its own run that the world says this worker holds, unless it is one of the session's own: its start, or its end, may be on the way.
func (s *session) handleStray(step string, attempt int) {
	own := func(b *body) bool { return b.step == step }
	if s.bodies[step] != nil || slices.ContainsFunc(s.turn.starts, own) || slices.ContainsFunc(s.turn.held, func(k world.TaskKey) bool { return k.Step == step }) {
		return
	}
	s.e.mu.Lock()
	t := s.e.tasks[taskKey{s.run, step}]
	s.e.mu.Unlock()
	if (t == nil || t.attempt != attempt) && s.e.workerID() == s.worker {
		s.e.handBack(s.e.workCtx, s.worker, holding{s.run, step, int64(attempt)}, 0)
	}
}

// awaitAccount has the next account come soon, where the world gives any: it shows what a take gave whose answer was lost. Whether it does the first beat tells.
func (e *Engine) awaitAccount(ctx context.Context) bool {
	e.mu.Lock()
	kept := e.books.kept
	e.mu.Unlock()
	if !kept {
		e.beatOnce(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.books.doubt = e.books.kept; e.books.doubt {
		nudge(e.stir)
	}
	return e.books.kept
}

// openLocked reports whether something is to be found out that the next account shows.
func (b *books) openLocked() bool { return b.doubt || len(b.strays) > 0 }
