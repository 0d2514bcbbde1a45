package postgres

// What a worker holds, and what becomes of late claims: the last statement of a claim is its fence. The claims
// of a worker are counted, here where it lives in this process, else by itself; in its lane for claims stands the
// number behind which none gives anything any more.

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	lockClaim   = load("lock_claim")
	noteClaim   = load("note_claim")
	fenceClaims = load("fence_claims")
)

// Held lists what a worker owns; see [world.Queue].
func (w *World) Held(ctx context.Context, id string) (a world.Account, err error) {
	wk, err := w.find(ctx, id)
	switch {
	case err != nil:
		return a, fmt.Errorf("worker %s: held: %w", id, err)
	case wk == nil || w.isClosed():
		return a, w.notAlive(id)
	}
	number := int64(0) // such a worker makes a claim of nothing before
	if !wk.Remote {
		number = wk.claims.Add(1)
	}
	alive := false
	if err := w.batch(ctx, func(q *pgx.Batch) {
		a, alive = world.Account{}, false
		q.Queue(w.sql(fenceClaims), wk.key, int16(laneClaim), number).Query(func(rows pgx.Rows) error {
			var claimed int64
			_, err := pgx.ForEachRow(rows, []any{&claimed}, func() error { alive = true; return nil })
			return err
		})
		askAccount(&w.database, q, wk, &a)
	}); err != nil {
		return a, fmt.Errorf("worker %s: held: %w", id, err)
	}
	if !alive {
		w.crew.forget(wk)
		return a, w.notAlive(id)
	}
	return a, nil
}

// count gives a claim its number. That of a worker that lives elsewhere and counts none is behind nothing.
func (t *claiming) count(number int64) {
	switch {
	case !t.wk.Remote:
		t.number = t.wk.claims.Add(1)
	case number > 0:
		t.number, t.noted = number, true
	default:
		t.number = math.MaxInt64
	}
}

// fence is the last statement of a claim.
func (t *claiming) fence(q *pgx.Batch) {
	w, key := t.w, t.wk.key
	if t.noted {
		q.Queue(w.sql(noteClaim), key, int16(laneClaim), t.number, w.queue.news.from)
	} else {
		q.Queue(w.sql(lockClaim), key, int16(laneClaim), t.number)
	}
}

// fenced says why a claim did not pass its fence.
func (t *claiming) fenced(ctx context.Context) error {
	if err := t.alive(ctx); err != nil {
		return err // nothing was written
	}
	if !t.wk.Remote && t.number == t.wk.claims.Load() { // nobody asked later: its lanes are not what was written, and it is to join anew
		t.w.crew.forget(t.wk)
		return t.w.notAlive(t.wk.ID)
	}
	return fmt.Errorf("worker %s: take %d comes behind another one: %w", t.wk.ID, t.number, world.ErrConflict)
}

// alive returns an error unless the worker is alive.
func (t *claiming) alive(ctx context.Context) error {
	w, alive := t.w, false
	if err := w.read(ctx, seeWorker, func(pgx.Rows) error { alive = true; return nil }, t.wk.key); err != nil {
		return fmt.Errorf("worker %s: take: %w", t.wk.ID, err)
	}
	if !alive {
		var err error
		if _, _, alive, err = w.rejoin(ctx, t.wk); err != nil {
			return err
		}
	}
	if !alive {
		w.crew.forget(t.wk)
		return w.notAlive(t.wk.ID)
	}
	return nil
}

// mark is a claim of nothing: those with lower numbers give nothing from here on.
func (t *claiming) mark(ctx context.Context) (world.Claimed, error) {
	err := t.w.batch(ctx, t.fence)
	switch {
	case sqlState(err) == codeDivision:
		return world.Claimed{}, t.fenced(ctx)
	case err != nil:
		return world.Claimed{}, fmt.Errorf("worker %s: take: %w", t.wk.ID, err)
	}
	t.out.Now = t.w.now()
	return t.out, nil
}
