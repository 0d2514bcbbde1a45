package engine

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell/stepwell/world"
)

// join registers the worker under a new ID, with what its definitions say: all holds from one moment on, or nothing.
func (e *Engine) join(ctx context.Context) error {
	w := world.Worker{
		ID: world.NewID(world.PrefixWorker, time.Now()), Name: e.cfg.Name, Build: e.cfg.Build,
		Classes: e.code.all(), Steps: e.code.stepNames(), Lease: e.cfg.Lease,
		Definitions: e.code.says(), MaxRetention: e.cfg.Book.own, StepLimits: e.code.stepLimits(),
	}
	before, err := e.cfg.Book.said(ctx)
	if err != nil {
		return err
	}
	sent := time.Now()
	b, err := e.cfg.World.Join(ctx, w)
	if err != nil {
		return err
	}
	e.cfg.Book.Forget()
	e.says.back("")
	e.worker.Store(&w.ID)
	e.renewed(sent, b)
	if now, err := e.cfg.Book.said(ctx); err == nil && e.cfg.Joined != nil {
		e.cfg.Joined(before, now)
	}
	return nil
}

// renewed notes a new end of the lease and the world's clock. Where that was set, all who sleep until
// a time of it look anew.
func (e *Engine) renewed(sent time.Time, b world.Heartbeat) {
	e.lease.renew(sent, b.Until.Sub(b.Now))
	e.clock.hears(sent, b.Now)
	if e.clock.stepped() {
		e.holdings.wake()
		e.kick()
	}
}

// heartbeatLoop renews the lease: every Heartbeat while the worker owns anything, else as rarely as the lease allows; and whenever mail is announced. What is claimed
// meanwhile makes the next heartbeat due sooner, and never later.
func (e *Engine) heartbeatLoop(ctx context.Context) {
	due := time.Now().Add(e.heartbeatPause())
	for {
		t := time.NewTimer(time.Until(due))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-e.pulse.isDue():
			if !e.busy() && e.lease.runs() {
				t.Stop()
				continue // nobody here could get mail
			}
		case <-e.pulse.isStirred():
			t.Stop()
			if soon := time.Now().Add(e.heartbeatPause()); soon.Before(due) {
				due = soon
			}
			continue
		case <-t.C:
		}
		t.Stop()
		e.heartbeatOnce(ctx)
		due = time.Now().Add(e.heartbeatPause())
	}
}

// heartbeatPause is the time between heartbeats for a worker that owns what this one does.
func (e *Engine) heartbeatPause() time.Duration {
	if e.busy() {
		return e.cfg.Heartbeat
	}
	return e.cfg.Lease / 3
}

func (e *Engine) busy() bool {
	return e.holdings.some() || e.books.open()
}

// holds reports whether this process is still the worker that it was when it asked for something whose answer has come now.
func (e *Engine) holds(ctx context.Context, worker string) bool {
	return e.workerID() == worker && (e.lease.runs() || e.confirm(ctx, worker))
}

// confirm finds out whether this process is still the worker, where its lease ran out on its own clock: it asks until it is told.
func (e *Engine) confirm(ctx context.Context, worker string) bool {
	for try := 0; ; try++ {
		switch {
		case e.workerID() != worker || ctx.Err() != nil:
			return false
		case e.lease.runs():
			return true
		}
		e.heartbeatOnce(ctx)
		if !e.lease.runs() && !pause(ctx, retryPause(try)) {
			return false
		}
	}
}

// resign gives up all that the worker holds and joins anew, where the answer to a claim was lost: nobody knows what it was given. The old
// lease is left to run out, so that nobody else begins what bodies here may still do.
func (e *Engine) resign(ctx context.Context) {
	e.pulse.enter(context.WithoutCancel(ctx))
	defer e.pulse.leave()
	e.holdings.lose()
	for try := 0; ; try++ {
		err := e.join(ctx)
		if err == nil || !pause(ctx, retryPause(try)) {
			return
		}
		e.says.away("join", err)
	}
}

// distrust makes the worker send a heartbeat before it believes in its lease again.
func (e *Engine) distrust() {
	e.lease.end()
	e.pulse.soon()
}

func (e *Engine) heartbeatOnce(ctx context.Context) {
	if !e.pulse.enter(ctx) { // one at a time: a lost lease is joined anew once
		return
	}
	defer e.pulse.leave()
	e.heartbeatNow(ctx)
}

// look gets the mail of all runs that is durable by now: by a heartbeat that begins behind this call, be it another's.
// It is false where there was none.
func (e *Engine) look(ctx context.Context) bool {
	begun := e.pulse.begun()
	if !e.pulse.enter(ctx) {
		return false
	}
	defer e.pulse.leave()
	if e.pulse.begun() > begun && e.pulse.wasHeard() {
		return true
	}
	e.heartbeatNow(ctx)
	return e.pulse.wasHeard()
}

// heartbeatNow sends a heartbeat. The caller has entered the pulse.
func (e *Engine) heartbeatNow(ctx context.Context) {
	number, worker := e.pulse.begin(), e.workerID()
	sent := time.Now()
	doubts := e.books.open()
	b, err := e.cfg.World.Heartbeat(ctx, world.HeartbeatQuery{Worker: worker, Tasks: e.holdings.taskKeys(), Account: doubts})
	switch {
	case err == nil:
		e.says.back("beat")
		e.renewed(sent, b)
	case ctx.Err() != nil: // who asked is gone, and what ended it may read like an answer of the world: a body's context ends with ErrLeaseLost
		return
	case errors.Is(err, world.ErrLeaseLost):
		e.says.leaseLost(worker, e.cfg.Name, e.holdings.lose(), err)
		err := e.join(ctx)
		if err != nil && ctx.Err() == nil {
			e.says.away("join", err)
		}
		e.pulse.joined(ctx, err == nil)
		e.kick()
		return
	case errors.Is(err, world.ErrReplaced):
		e.lostWorld(err)
		return
	default:
		e.says.away("beat", err)
		return
	}
	e.pulse.answered()
	e.holdings.dispatch(b)
	e.audit(ctx, worker, number, doubts, b.Account)
}
