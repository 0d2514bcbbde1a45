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
	for _, key := range g.crew.expired(g.steady, q.Worker) {
		if err := g.bury(key, true); err != nil {
			return b, err
		}
	}
	wk := g.alive(q.Worker)
	if wk == nil {
		return b, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	b = world.Beat{Now: g.now, Until: g.now.Add(wk.Lease)}
	until := g.steady.Add(wk.Lease)
	_, shown := g.crew.lease(wk)
	shows := shown.Sub(g.steady) < wk.Lease/2 // the file shows the lease to others: about is enough
	if shows {
		if err := g.show(wk, b.Until); err != nil {
			return b, err
		}
	}
	g.onCommit(func() { g.crew.renew(wk, until, shows) })
	if b.Mail, err = g.mailOfAll(wk); err != nil {
		return b, err
	}
	if b.Lost, err = g.lostRuns(wk); err != nil {
		return b, err
	}
	for _, k := range q.Tasks {
		r, err := g.run(k.Run)
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
	err = g.c.query(ownedMail, func(row row) (bool, error) {
		mail = append(mail, scanMail(row, row.text(7), row.time(8)))
		return true, nil
	}, wk.key)
	return mail, err
}

// disownStrays tells which runs the file has a worker own. What the worker was never given, as somebody changed the file by hand, comes back.
func (g *group) disownStrays(wk *worker) (owned map[int64]bool, err error) {
	owned = make(map[int64]bool)
	if err := g.c.query(ownedRuns, func(r row) (bool, error) { owned[r.int(0)] = true; return true, nil }, wk.key); err != nil {
		return nil, err
	}
	if g.gave {
		return owned, nil
	}
	strays := g.crew.strays(wk, owned)
	for _, key := range strays {
		delete(owned, key)
		if err := g.exec(disown, key, wk.key, int64(nobody)); err != nil {
			return nil, err
		}
	}
	if len(strays) > 0 {
		err = g.bury(nobody, false)
	}
	return owned, err
}

// lostRuns tells which runs are no longer the worker's though it did not give them up: an operator of this process, or another process
// behind its back, ended them.
func (g *group) lostRuns(wk *worker) (lost []string, err error) {
	lost, has := g.crew.lostSince(wk)
	if has > 0 {
		owned, err := g.disownStrays(wk)
		if err != nil {
			return nil, err
		}
		gone, ids := g.crew.missing(wk, owned, g.givenUp)
		lost = append(lost, ids...)
		g.onCommit(func() { g.crew.disown(wk, gone) })
	}
	g.onCommit(func() { g.crew.toldLost(wk, len(lost)) }) // with those that this group takes from it
	return lost, nil
}
