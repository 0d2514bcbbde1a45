package sqlite

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Beat renews a worker's lease and tells what came; see [world.Queue].
func (w *World) Beat(ctx context.Context, q world.BeatQuery) (world.Beat, error) {
	if err := w.know(ctx, q.Worker); err != nil {
		return world.Beat{}, err
	}
	if err := w.lookAtAll(); err != nil {
		return world.Beat{}, err
	}
	if ctx.Err() == nil && !w.isClosed() {
		if b, ok := w.crew.idleBeat(&q); ok {
			return b, nil
		}
	}
	return askFor(ctx, w, true, func(g *group) (world.Beat, error) { return g.beat(q) })
}

func (g *group) beat(q world.BeatQuery) (b world.Beat, err error) {
	if err := g.buryExpired(q.Worker); err != nil {
		return b, err
	}
	wk := g.alive(q.Worker)
	if wk == nil {
		return b, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	b = world.Beat{Now: g.tx.now()}
	if b.Until, err = g.renew(wk); err != nil {
		return b, err
	}
	if b.Mail, err = g.mailOfAll(wk); err != nil {
		return b, err
	}
	if b.Lost, err = g.lostRuns(wk); err != nil {
		return b, err
	}
	for _, k := range q.Tasks {
		r, err := g.runs.get(k.Run)
		if err != nil {
			return b, err
		}
		held := false
		if r != nil && r.live {
			if held, err = g.holds(q.Worker, r, k); err != nil {
				return b, err
			}
		}
		if !held {
			b.Ended = append(b.Ended, k)
		}
	}
	if q.Account {
		b.Account, err = g.account(wk)
	}
	return b, err
}

func (g *group) mailOfAll(wk *worker) (mail []world.Mail, err error) {
	if len(wk.runs) == 0 {
		return nil, nil
	}
	err = g.tx.query(ownedMail, func(row row) (bool, error) {
		mail = append(mail, scanMail(row, row.text(7), row.time(8)))
		return true, nil
	}, wk.key)
	return mail, err
}
