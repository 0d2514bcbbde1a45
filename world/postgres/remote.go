package postgres

// Workers that live elsewhere, behind servers. Any World of the database speaks for one that has joined: which runs it
// has is in its rows, and what a World keeps in memory of these makes commits quicker and is believed nowhere. So the
// end of a server is nobody's death, and a worker may come through any server, or several at once. Such a worker is
// judged by its lease alone.

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var adoptWorker = load("adopt_worker")

// find returns a worker that was not found dead, as far as this World knows: one that joined here, or one that lives
// elsewhere, wherever it joined. Nil: there is none.
func (w *World) find(ctx context.Context, id string) (*worker, error) {
	if wk := w.crew.worker(id); wk != nil || id == "" || !storable([]any{id}) {
		return wk, nil
	}
	return w.adopt(ctx, id)
}

// adopt goes on with a worker that lives elsewhere and is alive.
func (w *World) adopt(ctx context.Context, id string) (*worker, error) {
	wk := &worker{Worker: world.Worker{ID: id, Remote: true}}
	found := false
	var classes, steps string
	err := w.batch(ctx, func(q *pgx.Batch) {
		found = false
		q.Queue(w.sql(adoptWorker), id, w.laneNumbers()).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&wk.key, &wk.Name, &wk.Build, &classes, &steps, &wk.Lease, &wk.told}, func() error { found = true; return nil })
			return err
		})
	})
	if err != nil || !found {
		return nil, err
	}
	_ = json.Unmarshal([]byte(classes), &wk.Classes) // of a damaged row nothing is known
	_ = json.Unmarshal([]byte(steps), &wk.Steps)
	wk.told = world.Within(wk.told.UTC())
	wk.shown = wk.told
	return w.crew.know(wk), nil
}
