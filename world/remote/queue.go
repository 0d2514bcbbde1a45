package remote

// This file works for workers: their leases, and what they are given.

import (
	"context"
	"errors"
	"fmt"
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
	leave, err := w.enter(ctx)
	if err != nil {
		return world.Heartbeat{}, err
	}
	defer leave()
	wk.Remote = false
	out, err := callWithin(ctx, w, manner{}, wire.Join, wk)
	for try := 0; doubtful(err) && try < joinTries && ctx.Err() == nil; try++ {
		// It has joined, also where somebody has who has its ID: that is new, and nobody else's. Or it has not: then it can.
		in := wire.HeartbeatIn{HeartbeatQuery: world.HeartbeatQuery{Worker: wk.ID}}
		if out, err = callWithin(ctx, w, manner{twice: true}, wire.Heartbeat, in); errors.Is(err, world.ErrLeaseLost) {
			out, err = callWithin(ctx, w, manner{}, wire.Join, wk)
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
	return out.Heartbeat, nil
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
	q.Number = w.claims.Add(1)
	in := wire.ClaimIn{ClaimQuery: q}
	how := manner{tries: claimTries, limit: wk.wait()}
	out, err := callWithin(ctx, w, how, wire.Claim, in)
	in.Again, in.Server = true, wk.of()
	for try := 1; doubtful(err) && try < claimTries && ctx.Err() == nil; try++ {
		out, err = callWithin(ctx, w, how, wire.Claim, in)
	}
	if errors.Is(err, world.ErrConflict) { // it came twice, or late: this answer is not that of the one that counts
		err = fmt.Errorf("%w: claim: %w", world.ErrUnknownOutcome, err)
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
	return out, nil
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
	in := wire.HeldIn{WorkerID: wire.WorkerID{Worker: worker}, Number: w.claims.Add(1)}
	return callWithin(ctx, w, manner{twice: true, limit: wk.wait()}, wire.Held, in)
}

// Heartbeat renews a worker's lease; see [world.Queue]. It is not retried, because the next
// heartbeat follows soon, unless the server seems to hang.
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	wk := w.worker(q.Worker)
	wk.mu.Lock()
	in := wire.HeartbeatIn{HeartbeatQuery: q, Again: wk.missed}
	wk.owned.begin()
	wk.mu.Unlock()
	how := manner{twice: true, tries: 1, limit: wk.wait()}
	out, err := callAs(ctx, w, how, wire.Heartbeat, in)
	if errors.Is(err, errSilent) && ctx.Err() == nil {
		in.Again = true
		out, err = callAs(ctx, w, how, wire.Heartbeat, in)
	}
	wk.mu.Lock()
	b := out.Heartbeat
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
	return act(ctx, w, wire.Leave, wire.WorkerID{Worker: id})
}
