package engine

// A shift is the time in which an engine works: it begins when the worker has joined and ends when it has left.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// leavePatience is how long the last call of a worker may take. Where it is not answered the worker's lease runs out.
const leavePatience = 3 * time.Second

// shift ends what an engine began when it went to work.
type shift struct {
	e             *Engine
	work          context.Context // of what is done until the end, which comes on another goroutine
	giveUp        context.CancelFunc
	endBodies     context.CancelCauseFunc
	stopHeartbeat context.CancelFunc
	heartbeats    sync.WaitGroup
	deaf          func() // ends the notices
	mute          func() // and the reports
}

// begin starts what every worker needs: commits, bodies, heartbeats, notices. The worker has joined. The values of ctx are those of all bodies.
func (e *Engine) begin(ctx context.Context) *shift {
	sh := &shift{e: e, mute: func() {}}
	e.quarantine.settle()
	sh.work, sh.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	var bodies context.Context
	bodies, sh.endBodies = context.WithCancelCause(context.WithoutCancel(ctx))
	e.workCtx, e.bodyCtx, e.endBodies = sh.work, bodies, sh.endBodies
	e.holdings.open(sh.work)
	sh.deaf = e.cfg.World.Notify(e.notice)
	if e.able.Reporter != nil {
		sh.mute = e.able.Reporter.Report(e.cfg.Logger)
	}
	var heartbeats context.Context
	heartbeats, sh.stopHeartbeat = context.WithCancel(sh.work)
	sh.heartbeats.Go(func() { e.heartbeatLoop(heartbeats) })
	sh.heartbeats.Go(func() { e.watchLoop(heartbeats) })
	return sh
}

// end drains, hands back what cannot be finished, and leaves. It returns when all that was begun has ended.
func (sh *shift) end() error {
	e := sh.e
	defer sh.deaf()
	defer sh.mute()
	defer sh.giveUp()
	defer sh.endBodies(ErrDraining)
	defer e.says.Flush()
	err := e.drain(sh.giveUp)
	sh.stopHeartbeat()
	sh.heartbeats.Wait()
	e.returns.Wait()
	e.cache.clear()
	e.unwound.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(sh.work), leavePatience)
	defer cancel()
	if id := e.workerID(); id != "" {
		if leave := e.cfg.World.Leave(last, id); leave != nil && !errors.Is(leave, world.ErrClosed) {
			err = errors.Join(err, leave)
		}
	}
	return err
}
