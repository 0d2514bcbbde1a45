package sqlite

// Waits that listen to what is published.

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertListen     = load("insert_listen")
	deleteListen     = load("delete_listen")
	deafRuns         = load("deaf_runs")
	deleteRunListens = load("delete_run_listens")
	listenShapes     = load("listen_shapes")
	listeners        = load("listeners")
	lookingBack      = load("looking_back")
	lookedBack       = load("looked_back")
)

// followListens does what events of a run say of its waits that listen.
func followListens(tx *txn, r *run, events []world.Event) error {
	l := rules.Listens(events)
	if l == nil {
		return nil
	}
	if l.All {
		if err := tx.exec(deleteRunListens, r.key); err != nil {
			return err
		}
	}
	for _, e := range l.Created {
		var match any
		back := e.Listen.Since > 0
		if back {
			match = orNull(string(e.Match))
			tx.notice(world.NoticeTopic, "")
		}
		if err := tx.exec(insertListen, r.key, e.ID, e.Listen.Shape, e.Listen.Hash, e.Time.Add(-e.Listen.Since).UnixMicro(), back, match); err != nil {
			return err
		}
	}
	for _, wait := range l.Over {
		if err := tx.exec(deleteListen, r.key, wait); err != nil {
			return err
		}
	}
	return nil
}

// Shapes are those of all waits that listen; see [world.Publisher].
func (k topics) Shapes(ctx context.Context) (all []world.Shape, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		all = nil
		return c.query(listenShapes, func(r row) (bool, error) {
			if s, err := world.ReadShape(r.text(0)); err == nil { // a damaged one finds nobody, and holds up nobody
				all = append(all, s)
			}
			return true, nil
		})
	})
	return all, err
}

// Listeners are pages of waits that listen; see [world.Publisher].
func (k topics) Listeners(ctx context.Context, q world.ListenerQuery) (all []world.Listener, err error) {
	run, wait, err := q.Check()
	if err != nil {
		return nil, err
	}
	type placed struct {
		world.Listener
		run int64
	}
	var found []placed
	scan := func(r row) (bool, error) {
		l := placed{world.Listener{Run: r.text(1), Wait: r.text(2), Shape: r.text(3), Hash: r.int(4), From: r.time(5), Last: r.int(6)}, r.int(0)}
		if l.Place = world.ListenerPlace(l.run, l.Wait); q.Back && !r.null(7) {
			l.Match = json.RawMessage(r.text(7))
		}
		found = append(found, l)
		return true, nil
	}
	err = k.w.read(ctx, func(c *conn) error {
		found = nil
		if q.Back {
			return c.query(lookingBack, scan, run, wait, int64(q.Limit))
		}
		for _, of := range q.Any {
			if err := c.query(listeners, scan, of.Shape, of.Hash, run, wait, int64(q.Limit)); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b placed) int { return cmp.Or(cmp.Compare(a.run, b.run), strings.Compare(a.Wait, b.Wait)) })
	for _, l := range found[:min(q.Limit, len(found))] {
		all = append(all, l.Listener)
	}
	return all, err
}

// looked notes that waits have looked back.
func looked(tx *txn, places []string) error {
	for _, place := range places {
		run, wait, err := world.ListenerAt(place)
		if err != nil {
			return err
		}
		if err := tx.exec(lookedBack, run, wait); err != nil {
			return err
		}
	}
	return nil
}

// mostDeaf is of how many runs one Sweep deletes waits that listen.
const mostDeaf = 100

// sweepDeaf deletes what listens of runs that are over, as one ended that did not say so. It writes only
// where there is some.
func (k topics) sweepDeaf(ctx context.Context) error {
	var runs []int64
	if err := k.w.read(ctx, func(c *conn) error {
		runs = nil
		return c.query(deafRuns, func(r row) (bool, error) {
			runs = append(runs, r.int(0))
			return true, nil
		}, int64(mostDeaf))
	}); err != nil || len(runs) == 0 {
		return err
	}
	_, err := ask(ctx, k.w, func(g *group) (struct{}, error) {
		for _, run := range runs { // over once is over for good
			if err := g.tx.exec(deleteRunListens, run); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}
