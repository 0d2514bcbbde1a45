package sqlite

// What keeps runs from beginning.

import (
	"context"
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	holdWorkflow    = load("hold_workflow")
	releaseWorkflow = load("release_workflow")
	listHolds       = load("list_holds")
	unsettledHolds  = load("unsettled_holds")
	moveOnHold      = load("move_on_hold")
	endOfPage       = load("end_of_page")
	moveHeld        = load("move_held")
	heldPlaces      = load("held_places")
	heldNow         = load("held_now")
	releasedNow     = load("released_now")
	insertLapse     = load("insert_lapse")
	nextLapse       = load("next_lapse")
	dueLapses       = load("due_lapses")
	dropLapse       = load("drop_lapse")
)

// holds are the workflows that are held, as the writer knows them.
//
//   - names are nil, or all that the file has.
type holds struct {
	tx    *txn
	names map[string]bool
}

// has reports whether the runs of a workflow are not to begin.
func (h *holds) has(workflow string) (bool, error) {
	if h.names == nil {
		names := make(map[string]bool)
		if err := h.tx.query(listHolds, func(r row) (bool, error) { names[r.text(0)] = true; return true, nil }); err != nil {
			return false, err
		}
		h.names = names
	}
	return h.names[workflow], nil
}

// forget has them read anew.
func (h *holds) forget() { h.names = nil }

// starts keep runs of a file from beginning. What was there when a workflow was held or released is marked page by
// page, each a transaction that looks what is to be done: so of a hold and a release the later one stands.
type starts struct {
	w     *World
	page  int64         // how many keys of the queue are looked at in one transaction
	after time.Duration // for how long what others have begun is left to them
}

// Starts returns the store of holds and starts; see [world.World].
func (w *World) Starts() world.Starter { return starts{w, world.HoldPage, world.SettleAfter} }

// Hold holds a workflow; see [world.Starter].
func (s starts) Hold(ctx context.Context, h world.Hold) error {
	if err := world.CheckHold(&h); err != nil {
		return err
	}
	if err := s.w.write(ctx, func(g *group) error {
		g.queue.holds.forget()
		g.tx.notice(world.NoticeSchedule, "") // who looks goes on with it, if this process dies
		return g.tx.exec(holdWorkflow, h.Workflow, h.By, h.Note, g.tx.now().UnixMicro())
	}); err != nil {
		return err
	}
	return s.settle(ctx, h.Workflow)
}

// Release has the runs of a workflow begin again; see [world.Starter].
func (s starts) Release(ctx context.Context, workflow string) error {
	if err := s.w.write(ctx, func(g *group) error {
		g.queue.holds.forget()
		g.tx.notice(world.NoticeSchedule, "")
		return g.tx.exec(releaseWorkflow, workflow, g.tx.now().UnixMicro())
	}); err != nil {
		return err
	}
	return s.settle(ctx, workflow)
}

// settle marks the runs of a workflow, until all are as they should be.
func (s starts) settle(ctx context.Context, workflow string) (err error) {
	for from, done := int64(0), false; !done && err == nil; {
		from, done, err = s.step(ctx, workflow, from)
	}
	return err
}

// step does so for a page of the queue, behind a key. It tells the last key of the page, and whether nothing is left.
func (s starts) step(ctx context.Context, workflow string, from int64) (to int64, done bool, err error) {
	err = s.w.write(ctx, func(g *group) error {
		held := false
		found, err := g.tx.returning(moveOnHold, func(r row) error { held = r.bool(0); return nil }, workflow, g.tx.now().UnixMicro())
		if done = !found; err != nil || done {
			return err
		}
		to = math.MaxInt64
		if _, err := g.tx.one(endOfPage, func(r row) error { to = r.int(0); return nil }, from, s.page-1); err != nil {
			return err
		}
		if err := g.tx.exec(moveHeld, from, to, workflow, bit(held)); err != nil {
			return err
		}
		ends := releasedNow
		if held {
			ends, err = heldNow, g.queue.restHeld(from, to)
		} else {
			g.tx.notice(world.NoticeWork, "")
		}
		if done = to == math.MaxInt64; err == nil && done {
			err = g.tx.exec(ends, workflow)
		}
		return err
	})
	return to, done, err
}

// restHeld has runs that are not to begin give back the places of limits that they have: others are not to wait for
// them.
func (qu *queue) restHeld(from, to int64) error {
	var ids []string
	if err := qu.tx.query(heldPlaces, func(r row) (bool, error) { ids = append(ids, r.text(0)); return true, nil }, from, to); err != nil {
		return err
	}
	for _, id := range ids {
		qu.runs.reread(id)
		r, err := qu.runs.get(id)
		if err == nil && r != nil {
			err = qu.limits.rest(r, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Holds are the workflows that are held; see [world.Starter].
func (s starts) Holds(ctx context.Context) (out []world.Hold, err error) {
	err = s.w.read(ctx, func(c *conn) error {
		out = nil
		return c.query(listHolds, func(r row) (bool, error) {
			out = append(out, world.Hold{Workflow: r.text(0), By: r.text(1), Note: r.text(2), Since: r.time(3)})
			return true, nil
		})
	})
	return out, err
}

// Settle goes on with what somebody left; see [world.Starter].
func (s starts) Settle(ctx context.Context) (next time.Duration, err error) {
	s.w.ear.listen(s.w)
	var left []string
	now := s.w.Time()
	if err := s.w.read(ctx, func(c *conn) error {
		left, next = nil, 0
		return c.query(unsettledHolds, func(r row) (bool, error) {
			if wait := r.time(1).Add(s.after).Sub(now); wait >= 0 {
				next = sooner(next, min(wait, s.after)+time.Millisecond)
			} else {
				left = append(left, r.text(0))
			}
			return true, nil
		})
	}); err != nil {
		return 0, err
	}
	for _, name := range left {
		if err := s.settle(ctx, name); err != nil {
			return 0, err
		}
	}
	for _, look := range []func(context.Context) (time.Duration, error){s.neglected, s.neglectedRuns} {
		again, err := look(ctx)
		if err != nil {
			return 0, err
		}
		next = sooner(next, again)
	}
	return next, nil
}

// sooner is the shorter one of two times until something is due; 0: nothing is.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Lapsing are runs that have not begun in time; see [world.Starter]. Nothing is written where nothing is due.
func (s starts) Lapsing(ctx context.Context) (out world.Lapsing, err error) {
	next, now := int64(0), s.w.Time()
	if err := s.w.read(ctx, func(c *conn) error {
		next = 0
		return c.query(nextLapse, func(r row) (bool, error) { next = r.int(0); return true, nil })
	}); err != nil || next == 0 {
		return out, err
	}
	if next > now.UnixMicro() {
		return world.Lapsing{Next: untilLapse(next, now)}, nil
	}
	return ask(ctx, s.w, func(g *group) (out world.Lapsing, err error) { return out, lapsing(g, &out) })
}

// untilLapse is the time until something lapses, a day at most. What is still due is damaged, and is not waited for.
func untilLapse(at int64, now time.Time) time.Duration {
	return max(min(time.UnixMicro(at).Sub(now), 24*time.Hour), 0)
}

func lapsing(g *group, out *world.Lapsing) error {
	now := g.tx.now()
	type lapse struct{ at, run, ttl int64 }
	var due, again []lapse
	if err := g.tx.query(dueLapses, func(r row) (bool, error) {
		l := lapse{r.int(0), r.int(1), r.int(2)}
		if due = append(due, l); !r.null(3) {
			out.Runs = append(out.Runs, world.LapsingRun{Run: r.text(3), Within: time.Duration(l.ttl)})
			again = append(again, l)
		}
		return true, nil
	}, now.UnixMicro(), int64(world.MaxLapsing)); err != nil {
		return err
	}
	for _, l := range due {
		if err := g.tx.exec(dropLapse, l.at, l.run); err != nil {
			return err
		}
	}
	for _, l := range again {
		if err := g.tx.exec(insertLapse, now.Add(world.LapsePatience).UnixMicro(), l.run, l.ttl); err != nil {
			return err
		}
	}
	if out.More = len(due) == world.MaxLapsing; out.More {
		return nil
	}
	_, err := g.tx.one(nextLapse, func(r row) error {
		out.Next = untilLapse(r.int(0), now)
		return nil
	})
	return err
}
