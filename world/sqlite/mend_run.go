package sqlite

// What lies beside the log of a run is put right by what the log says.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	listAwaits = load("list_awaits")
	pauses     = load("pauses")
)

// Awaits lists steps of a run that wait for the end of other runs; see [world.Mender].
func (w *World) Awaits(ctx context.Context, run string) (all []world.Await, err error) {
	err = w.read(ctx, func(c *conn) error {
		all = nil
		return c.query(listAwaits, func(r row) (bool, error) {
			all = append(all, world.Await{Step: r.text(0), Run: r.text(1)})
			return true, nil
		}, run)
	})
	return all, err
}

// MendRun repairs what is derived from the log of a run; see [world.Mender]. It does not repair
// counts.
func (w *World) MendRun(ctx context.Context, run string, is world.Derived) (bool, error) {
	return ask(ctx, w, func(g *group) (bool, error) {
		r, err := g.runs.get(run)
		if err != nil || r == nil || !r.live {
			return false, err
		}
		last, err := g.logs.seq(r)
		if err != nil || last != is.Seq {
			return false, err
		}
		if r.running != is.Running || r.paused != is.Paused {
			if err := g.queue.right(r, is.Running, is.Paused); err != nil {
				return false, err
			}
		}
		for _, a := range is.Awaits {
			if err := g.awaitAgain(r, a); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// rightPause makes the row of a run say whether its log says that it is paused, before somebody acts on it. Where that cannot be read the row has to do.
func (g *group) rightPause(r *run) error {
	paused, known := false, true
	err := g.tx.query(pauses, func(row row) (bool, error) {
		events, _, _, err := layout.ReadRow(r.id, r.created, row.int(0), int(row.int(2)), row.text(3), row.bytes(4), row.sum(5))
		if rules.Unreadable(err) {
			known = false
			return false, nil
		}
		var found bool
		paused, found = world.PausedBy(events)
		return !found, err
	}, r.key)
	if err != nil || !known || paused == r.paused {
		return err
	}
	return g.queue.right(r, r.running, paused)
}

// awaitAgain has a step be told of the end of another run.
func (g *group) awaitAgain(r *run, a world.Await) error {
	target, err := g.runs.get(a.Run)
	if err != nil {
		return err
	}
	if target != nil && target.live {
		return g.awaits.add(target, r, a.Step)
	}
	known, err := g.target(target)
	if err != nil {
		return fmt.Errorf("run %s: await: %w", r.id, err)
	}
	_, err = g.inbox.put(r, "result/"+a.Step, noKey, []world.Event{known.Result(a)})
	return err
}
