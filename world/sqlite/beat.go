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
	if b, ok := w.idleBeat(ctx, q); ok {
		return b, nil
	}
	return askFor(ctx, w, true, func(g *group) (world.Beat, error) { return g.beat(q) })
}

// idleBeat is the beat of a worker that holds nothing: there is nothing to look up.
func (w *World) idleBeat(ctx context.Context, q world.BeatQuery) (world.Beat, bool) {
	if ctx.Err() != nil || w.isClosed() {
		return world.Beat{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, steady := w.steadyLocked()
	wk := w.workers[q.Worker]
	if wk == nil || !wk.until.After(steady) || len(wk.runs)+len(wk.lost)+len(q.Tasks) > 0 || q.Account || wk.shown.Sub(steady) < wk.Lease/2 {
		return world.Beat{}, false
	}
	for _, other := range w.workers {
		if other != wk && !other.until.After(steady) {
			return world.Beat{}, false
		}
	}
	wk.until = steady.Add(wk.Lease)
	return world.Beat{Now: now, Until: now.Add(wk.Lease)}, true
}

func (g *group) beat(q world.BeatQuery) (b world.Beat, err error) {
	w := g.wr.w
	for _, key := range w.expired(g.steady, q.Worker) {
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
	if wk.shown.Sub(g.steady) < wk.Lease/2 { // the file shows the lease to others: about is enough
		if err := g.show(wk, b.Until); err != nil {
			return b, err
		}
		g.onCommit(func() {
			w.mu.Lock()
			wk.shown = until
			w.mu.Unlock()
		})
	}
	g.onCommit(func() {
		w.mu.Lock()
		wk.until = until
		w.mu.Unlock()
	})
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
	var strays []int64
	w := g.wr.w
	w.mu.Lock()
	for key := range owned {
		if _, knows := wk.runs[key]; !knows && !g.gave {
			strays = append(strays, key)
		}
	}
	w.mu.Unlock()
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
	w := g.wr.w
	w.mu.Lock()
	lost = append(lost, wk.lost...)
	known := len(wk.runs)
	w.mu.Unlock()
	g.onCommit(func() {
		w.mu.Lock()
		wk.lost = wk.lost[min(len(wk.lost), len(lost)):]
		w.mu.Unlock()
	})
	if known == 0 {
		return lost, nil
	}
	owned, err := g.disownStrays(wk)
	if err != nil {
		return nil, err
	}
	var gone []int64
	w.mu.Lock()
	for key, id := range wk.runs {
		if !owned[key] && !g.givenUp[key] {
			lost, gone = append(lost, id), append(gone, key)
		}
	}
	w.mu.Unlock()
	g.onCommit(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, key := range gone {
			delete(wk.runs, key)
		}
	})
	return lost, nil
}
