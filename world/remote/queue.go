package remote

// This file works for workers: their leases, and what they are given.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Bounds of how long a heartbeat, and a claim, may wait for its answer: a third of the lease, so that another one has
// time.
const (
	leastWait = 2 * time.Second
	mostWait  = 10 * time.Second
)

// worker finds what is known of a worker.
func (w *World) worker(id string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	wk := w.workers[id]
	if wk == nil {
		wk = &worker{}
		w.workers[id] = wk
	}
	return wk
}

func (w *World) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.workers, id)
}

// wait is how long an answer may take that the worker's lease depends on.
func (wk *worker) wait() time.Duration {
	wk.mu.Lock()
	defer wk.mu.Unlock()
	if wk.lease == 0 {
		return leastWait
	}
	return min(max(wk.lease/3, leastWait), mostWait)
}

// of is the process of the server that was heard last.
func (wk *worker) of() string {
	wk.mu.Lock()
	defer wk.mu.Unlock()
	return wk.server
}

// Join registers a worker; see [world.Queue]. The error is [world.ErrInvalid] also if the key's
// scope does not allow it.
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	if err := world.CheckWorker(&wk); err != nil {
		return world.Heartbeat{}, err
	}
	heartbeat, err := join(ctx, w, wk)
	// Else what it says is refused.
	older := errors.Is(err, world.ErrInvalid) && strings.Contains(err.Error(), "unknown field")
	if !older || len(wk.Definitions) == 0 && wk.MaxRetention == 0 {
		return heartbeat, err
	}
	err = w.Define(ctx, wk.Definitions)
	if err == nil && wk.MaxRetention != 0 {
		_, _, err = w.LimitRetention(ctx, wk.MaxRetention, false)
	}
	if older = errors.Is(err, world.ErrInvalid) || errors.Is(err, world.ErrNotFound); err != nil && !older {
		return world.Heartbeat{}, err
	}
	wk.Definitions, wk.MaxRetention = nil, 0
	return join(ctx, w, wk)
}

func join(ctx context.Context, w *World, wk world.Worker) (world.Heartbeat, error) {
	leave, err := w.enter(ctx)
	if err != nil {
		return world.Heartbeat{}, err
	}
	defer leave()
	in := wire.OfWorker(&wk)
	in.Remote = false
	var out wire.Beat
	err = w.insist(ctx, manner{}, "join", &in, &out)
	for try := 0; doubtful(err) && try < joinTries && ctx.Err() == nil; try++ {
		// It has joined, also where somebody has who has its ID: that is new, and nobody else's. Or it has not: then it can.
		if err = w.insist(ctx, manner{twice: true}, "beat", &wire.BeatQuery{Worker: wk.ID}, &out); errors.Is(err, world.ErrLeaseLost) {
			err = w.insist(ctx, manner{}, "join", &in, &out)
		}
	}
	switch {
	case errors.Is(err, ErrForbidden), errors.Is(err, ErrUnauthenticated):
		return world.Heartbeat{}, fmt.Errorf("%w: join: %w", world.ErrInvalid, err)
	case errors.Is(err, world.ErrConflict), errors.Is(err, world.ErrLeaseLost): // it had joined, and was buried meanwhile: another ID can
		return world.Heartbeat{}, fmt.Errorf("%w: join: %s", world.ErrUnknownOutcome, err)
	case err != nil:
		return world.Heartbeat{}, err
	}
	known := w.worker(wk.ID)
	known.mu.Lock()
	known.lease, known.server = out.Until.Sub(out.Now), out.Server
	known.mu.Unlock()
	return out.World(), nil
}

// Claim gives the worker runs and tasks; see [world.Queue]. It does not wait for work. If the
// answer is lost, Claim asks for it again, but another process of the server cannot know it.
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	leave, err := w.enter(ctx)
	if err != nil {
		return world.Claimed{}, err
	}
	defer leave()
	wk := w.worker(q.Worker)
	wk.claiming.Lock()
	defer wk.claiming.Unlock()
	in := wire.TakeQuery{Worker: q.Worker, Classes: q.Classes, Runs: q.Runs, Steps: q.Steps, Tasks: q.Tasks, Run: q.Run, Step: q.Step, N: w.claims.Add(1)}
	how := manner{tries: claimTries, limit: wk.wait()}
	var out wire.Taken
	err = w.insist(ctx, how, "take", &in, &out)
	in.Again, in.Server = true, wk.of()
	for try := 1; doubtful(err) && try < claimTries && ctx.Err() == nil; try++ {
		err = w.insist(ctx, how, "take", &in, &out)
	}
	if errors.Is(err, world.ErrConflict) { // it came twice, or late: this answer is not that of the one that counts
		err = fmt.Errorf("%w: take: %w", world.ErrUnknownOutcome, err)
	}
	if err != nil {
		if errors.Is(err, world.ErrLeaseLost) {
			w.forget(q.Worker)
		}
		return world.Claimed{}, err
	}
	for i := range out.Runs {
		wk.move(out.Runs[i].Run, true)
	}
	return out.World(), nil
}

// How often a claim is asked for, and a worker finds out whether it has joined.
const (
	claimTries = 3
	joinTries  = 4
)

// doubtful reports whether it is not known what a join or a claim came to. What the server has seen before was sent twice on its way.
func doubtful(err error) bool {
	return errors.Is(err, world.ErrUnknownOutcome) || errors.Is(err, world.ErrConflict)
}

// Held lists what a worker owns; see [world.Queue].
func (w *World) Held(ctx context.Context, worker string) (world.Account, error) {
	leave, err := w.enter(ctx)
	if err != nil {
		return world.Account{}, err
	}
	defer leave()
	wk := w.worker(worker)
	wk.claiming.Lock()
	defer wk.claiming.Unlock()
	var out wire.Held
	err = w.insist(ctx, manner{twice: true, limit: wk.wait()}, "held", &wire.HeldQuery{Worker: worker, N: w.claims.Add(1)}, &out)
	return out.World(), err
}

// Heartbeat renews a worker's lease; see [world.Queue]. It is not retried, because the next
// heartbeat follows soon, unless the server seems to hang.
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	wk := w.worker(q.Worker)
	wk.mu.Lock()
	in := wire.BeatQuery{Worker: q.Worker, Tasks: wire.OfKeys(q.Tasks), Again: wk.missed}
	wk.owned.begin()
	wk.mu.Unlock()
	var out wire.Beat
	how := manner{twice: true, tries: 1, limit: wk.wait()}
	err := w.ask(ctx, how, "beat", &in, &out)
	if errors.Is(err, errSilent) && ctx.Err() == nil {
		in.Again = true
		err = w.ask(ctx, how, "beat", &in, &out)
	}
	wk.mu.Lock()
	b := out.World()
	lost := wk.owned.end(b.Account)
	if wk.missed = err != nil; err == nil {
		wk.server = out.Server
	}
	wk.mu.Unlock()
	if err != nil {
		if errors.Is(err, world.ErrLeaseLost) {
			w.forget(q.Worker)
		}
		return world.Heartbeat{}, err
	}
	if b.Account != nil {
		b.Lost = lost
	}
	return b, nil
}

// Leave ends a worker's lease and hands back what it holds; see [world.Queue].
func (w *World) Leave(ctx context.Context, id string) error {
	defer w.forget(id)
	return w.ask(ctx, manner{twice: true}, "leave", &wire.WorkerID{Worker: id}, new(wire.Accepted))
}
