package postgres

// What lies beside the log of a run is put right by what the log says.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	listAwaits = load("list_awaits")
	rightQueue = load("right_queue")
	pauses     = load("pauses")
)

// Awaits lists which steps of a run wait for the end of others; see [world.Mender].
func (rd *reader) Awaits(ctx context.Context, run string) (all []world.Await, err error) {
	err = rd.read(ctx, listAwaits, func(row pgx.Rows) error {
		var a world.Await
		err := row.Scan(&a.Step, &a.Run)
		all = append(all, a)
		return err
	}, run)
	return all, err
}

// MendRun repairs what is derived from the log of a run; see [world.Mender]. It does not repair
// counts.
func (w *World) MendRun(ctx context.Context, run string, is world.Derived) (done bool, err error) {
	var results []world.Event
	err = w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		done, results = false, nil
		t := w.in(tx)
		a := &acting{w: w, d: &world.Delivery{Run: run}, tx: t}
		if err := a.lock(ctx); err != nil {
			return err
		}
		r := a.r
		if !r.live || r.last != is.Seq {
			return nil
		}
		if r.running != is.Running || r.paused != is.Paused {
			if _, err := t.exec(ctx, rightQueue, r.key, is.Running, is.Paused); err != nil {
				return err
			}
		}
		for _, await := range is.Awaits {
			result, err := awaitAgain(ctx, t, r, await)
			if err != nil {
				return fmt.Errorf("run %s: await: %w", run, err)
			}
			if result != nil {
				results = append(results, *result)
			}
		}
		done = true
		return nil
	})
	if err != nil || !done {
		return false, err
	}
	for _, e := range results {
		if _, err := w.Deliver(ctx, &world.Delivery{Run: run, ID: "result/" + e.ID, Events: []world.Event{e}}); err != nil {
			return false, err
		}
	}
	w.telling.tell(world.Notice{Kind: world.NoticeWork, Run: run})
	return true, nil
}

// awaitAgain has a step be told of the end of another run; where that is over it returns what it is told.
func awaitAgain(ctx context.Context, tx txn, r *run, a world.Await) (*world.Event, error) {
	target, err := look(ctx, tx, a.Run)
	if err != nil {
		return nil, err
	}
	if target != nil {
		target.live = false
		if err := tx.each(ctx, shareRun, func(scanner) error { target.live = true; return nil }, target.key); err != nil {
			return nil, err
		}
		if target.live {
			_, err := tx.exec(ctx, insertAwaits, []int64{target.key}, []int64{r.key}, []string{clean(a.Step)})
			return nil, err
		}
	}
	known, err := targetOf(ctx, tx, a.Run, target)
	result := known.Result(a)
	return &result, err
}

// rightPause makes the row of a run say whether its log says that it is paused, before somebody acts on it. The row is locked. Where the log cannot be read the row has
// to do.
func rightPause(ctx context.Context, tx txn, r *run) error {
	paused := false
	err := tx.each(ctx, pauses, func(row scanner) error {
		events, err := scanCommit(row, r)
		if is, found := world.PausedBy(events); found {
			paused = is
		}
		return err
	}, r.key)
	if rules.Unreadable(err) {
		return nil
	}
	if err != nil || paused == r.paused {
		return err
	}
	r.paused = paused
	_, err = tx.exec(ctx, rightQueue, r.key, r.running, paused)
	return err
}
