package sqlite

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Heartbeat renews a worker's lease and returns its news; see [world.Queue].
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	if err := w.know(ctx, q.Worker); err != nil {
		return world.Heartbeat{}, err
	}
	if err := w.lookAtAll(); err != nil {
		return world.Heartbeat{}, err
	}
	if ctx.Err() == nil && !w.isClosed() {
		if b, ok := w.crew.idleHeartbeat(&q); ok {
			return b, nil
		}
	}
	return askFor(ctx, w, true, func(g *group) (world.Heartbeat, error) { return g.heartbeat(q) })
}

func (g *group) heartbeat(q world.HeartbeatQuery) (b world.Heartbeat, err error) {
	if err := g.workers.buryExpired(q.Worker); err != nil {
		return b, err
	}
	wk := g.workers.alive(q.Worker)
	if wk == nil {
		return b, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	b = world.Heartbeat{Now: g.tx.now()}
	if b.Until, err = g.workers.renew(wk); err != nil {
		return b, err
	}
	if b.Mail, err = g.inbox.ofAll(wk); err != nil {
		return b, err
	}
	if b.Lost, err = g.workers.lost(wk); err != nil {
		return b, err
	}
	for _, k := range q.Tasks {
		r, err := g.runs.get(k.Run)
		if err != nil {
			return b, err
		}
		held := false
		if r != nil && r.live {
			if held, err = g.tasks.holds(q.Worker, r, k); err != nil {
				return b, err
			}
		}
		if !held {
			b.Ended = append(b.Ended, k)
		}
	}
	if q.Account {
		b.Account, err = g.workers.account(wk)
	}
	return b, err
}
