package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Run works until ctx ends, then drains: it claims nothing more, lets bodies end, hands back what cannot be finished, and returns when all that it
// started has ended. Where the database is lost, see [world.ErrReplaced], it ends by itself with that error. An engine runs once at a time.
func (e *Engine) Run(ctx context.Context) error {
	if !e.works.CompareAndSwap(false, true) {
		return fmt.Errorf("run: %w", ErrRunning)
	}
	defer e.works.Store(false)
	if err := e.joinFirst(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was to end before it had begun
		}
		return err
	}
	ctx, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	e.halt.Store(&halt)
	defer e.halt.Store(nil)
	sh := e.begin(ctx)
	var loops sync.WaitGroup
	loops.Go(func() { e.claimLoop(ctx) })
	loops.Go(func() { e.tryOthers(ctx) })
	if e.cfg.Sweep > 0 {
		loops.Go(func() { e.sweepLoop(ctx) })
	}
	if e.cfg.FailUnknown > 0 {
		loops.Go(func() { unknownLoop(ctx, e) })
	}
	e.kick()
	<-ctx.Done()
	loops.Wait()
	err := sh.end()
	flushMetrics(e.metrics)
	if cause := context.Cause(ctx); errors.Is(cause, world.ErrReplaced) {
		return cause // what could not be handed back is lost with it
	}
	return err
}

// lostWorld ends the work of a worker whose database is lost: nothing that it does can be recorded, and others may do it again.
func (e *Engine) lostWorld(err error) {
	e.cfg.Logger.Error("the database is gone; this worker stops", "err", err)
	e.holdings.lose()
	e.lease.end()
	if halt := e.halt.Load(); halt != nil {
		(*halt)(err)
	}
}

// drain ends all sessions: first those that can end by themselves, then, when their time is up, with their bodies' contexts cancelled, then by
// abandoning the bodies.
func (e *Engine) drain(giveUp func()) error {
	e.holdings.close()
	e.holdings.tell(msgDrain)
	away, stop := context.WithCancel(context.Background())
	defer stop()
	go e.watchAway(away, stop)
	ended, drained := waitUntil(away, e.allEnded, e.cfg.Drain)
	if ended {
		return nil
	}
	if !drained { // what is left waits for the database, and others have it soon
		e.endBodies(ErrDraining)
		e.holdings.tell(msgAbandon)
		giveUp()
		waitFor(e.holdings.wait, time.Second)
		return nil
	}
	e.endBodies(ErrDraining)
	if waitFor(e.allEnded, e.cfg.Drain/5+time.Millisecond) {
		return nil
	}
	e.holdings.tell(msgAbandon)
	waitFor(e.abandonTasks, time.Second)
	if waitFor(e.holdings.wait, e.cfg.Drain/5+time.Millisecond) {
		return nil
	}
	giveUp()
	if waitFor(e.holdings.wait, time.Second) {
		return nil
	}
	return errors.New("shutdown: workflow code did not yield; its goroutine is left behind")
}

func (e *Engine) allEnded() {
	e.holdings.wait()
	e.bodies.Wait()
}

// awayAfter is how long the database is silent until a worker that drains, and has no body that runs, waits for it no longer; see [Config.Heartbeat].
const awayAfter = 2 * time.Second

// watchAway calls stop when no body runs any more and the database has not answered for a while.
func (e *Engine) watchAway(ctx context.Context, stop func()) {
	for pause(ctx, awayAfter/10) {
		silent := e.lease.silent()
		if silent > awayAfter+2*e.cfg.Heartbeat && e.live.Load() == 0 {
			stop()
			return
		}
	}
}

// waitUntil is waitFor until ctx ends, if that comes first: then late is false.
func waitUntil(ctx context.Context, fn func(), d time.Duration) (done, late bool) {
	ended := make(chan struct{})
	go func() {
		fn()
		close(ended)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ended:
		return true, false
	case <-t.C:
		return false, true
	case <-ctx.Done():
		return false, false
	}
}

// waitFor reports whether fn returned in time. A goroutine is left behind if not.
func waitFor(fn func(), d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		fn()
		close(done)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

func (e *Engine) notice(n world.Notice) {
	switch n.Kind {
	case world.NoticeWork:
		e.kick()
	case world.NoticeMail:
		e.pulse.soon()
	}
}

// sweepLoop deletes ended runs whose retention is over.
func (e *Engine) sweepLoop(ctx context.Context) {
	const batch = 1000
	for pause(ctx, e.cfg.Sweep) {
		for {
			n, err := e.cfg.World.Sweep(ctx, batch)
			e.tellSwept(n)
			if err != nil && ctx.Err() == nil {
				e.cfg.Logger.Warn("sweep failed", "err", err)
			}
			if err != nil || n < batch {
				break
			}
		}
	}
}
