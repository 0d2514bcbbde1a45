package sqlite

import (
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// end does what a terminal event says: the run leaves the queue with all that hangs on it there, its outcome goes to its row, and
// those who wait for it are told. began says whether it had.
func (g *group) end(r *run, e *world.Event, began bool) error {
	class, err := g.classes.name(r.class)
	if err != nil {
		return err
	}
	status := rules.EndStatus(e.Type)
	if err := g.runs.end(r, e, status, class.Version, began); err != nil {
		return err
	}
	for _, drop := range []func(*run) error{g.queue.drop, g.inbox.dropAll, g.tasks.dropAll, g.hooks.dropAll} {
		if err := drop(r); err != nil {
			return err
		}
	}
	g.totals.recount(r, standing{})
	g.totals.add(r.workflow, string(status), 1)
	if r.owner != 0 {
		g.workers.own(r.owner, r, false)
	}
	r.live, r.owner = false, 0
	g.tx.notice(world.NoticeEnded, r.id)
	return g.tellAwaiting(r, e)
}

// tellAwaiting sends the result to every step that waits for it, the parent's among them.
func (g *group) tellAwaiting(r *run, e *world.Event) error {
	waiters, err := g.awaits.of(r)
	if err != nil {
		return err
	}
	for _, wt := range waiters {
		if wt.run == "" {
			continue // it was deleted
		}
		to, err := g.runs.get(wt.run)
		if err != nil {
			return err
		}
		if to == nil || !to.live {
			continue
		}
		result := world.ResultFor(e, wt.step)
		if err := g.tx.hold(to.id, r.id, result); err != nil {
			return err
		}
		if _, err := g.inbox.put(to, "result/"+wt.step, noKey, []world.Event{result}); err != nil {
			return err
		}
	}
	if len(waiters) == 0 {
		return nil
	}
	return g.awaits.told(r)
}

// force ends a run from outside, whoever owns it, and asks its attached children to end as well: nobody else is left who could.
func (g *group) force(r *run, e *world.Event) error {
	owner := r.owner
	if err := g.logs.append(r, [16]byte{}, "", r.last+1, []world.Event{*e}); err != nil {
		return err
	}
	if owner != 0 {
		g.workers.lose(owner, r.id)
		g.tx.notice(world.NoticeMail, r.id)
	}
	if err := g.tx.exec(deleteRunListens, r.key); err != nil { // nobody has looked whether there are any
		return err
	}
	if err := g.end(r, e, r.running); err != nil {
		return err
	}
	children, err := g.awaits.children(r)
	if err != nil {
		return err
	}
	for _, id := range children {
		child, err := g.runs.get(id)
		if err != nil {
			return err
		}
		if child == nil {
			continue
		}
		if _, err := g.inbox.put(child, "cancel/"+r.id, noKey, []world.Event{rules.CancelOfChild(e)}); err != nil {
			return err
		}
	}
	return nil
}
