package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Deliver sends to a run's inbox, acts on a run, or ends an attempt of a task; see
// [world.Delivery].
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if err := world.CheckDelivery(d); err != nil {
		return world.Delivered{}, err
	}
	if err := w.know(ctx, d.Worker); err != nil {
		return world.Delivered{}, err
	}
	return ask(ctx, w, func(g *group) (world.Delivered, error) { return g.deliver(d) })
}

func (g *group) deliver(d *world.Delivery) (done world.Delivered, err error) {
	if d.Task != nil {
		return g.taskEnd(d)
	}
	r, events, open, err := g.addressee(d)
	if err != nil {
		return done, err
	}
	if d.Act && d.Events[0].Type == world.InputReceived {
		return input(g, r, d)
	}
	if d.Act {
		return g.act(r, d)
	}
	k := keyOf(d)
	if d.Repeat {
		if done, err = g.delivered.again(r, d, k); err == nil && !done.Duplicate {
			err = world.NoRepeat(r.id, d)
		}
		return done, err
	}
	if !r.live || !open {
		if done, err = g.delivered.again(r, d, k); err != nil || done.Duplicate {
			return done, err
		}
		if r.live {
			return done, noHook(d.Token)
		}
		return done, over(r)
	}
	if err := world.CheckEncrypted(r.id, r.encrypted, events); err != nil {
		return done, err
	}
	if isPayload(events) {
		if full := g.inbox.room(r); full != nil { // before anything is written: what has written, and fails, takes its whole group back
			if done, err = g.delivered.again(r, d, k); err == nil && !done.Duplicate {
				err = full
			}
			return done, err
		}
	}
	if done, err = g.delivered.note(r, d, k); err != nil || done.Duplicate {
		return done, err
	}
	g.tx.count().deliveries++
	_, err = g.inbox.put(r, d.ID, k, events)
	return done, err
}

func noHook(token string) error {
	return fmt.Errorf("hook token %q: %w", world.ShownToken(token), world.ErrNotFound)
}

// addressee finds the run by ID or by token, and returns the events as it will get them. It is not open where the
// hook with the token is over.
func (g *group) addressee(d *world.Delivery) (r *run, events []world.Event, open bool, err error) {
	id, open := d.Run, true
	events = d.Events
	if d.Token != "" {
		var h hook
		if h, open, err = g.hooks.byToken(d.Token); err == nil && !open {
			var found bool
			if h, found, err = g.hooks.ended(d.Token); err == nil && !found {
				err = noHook(d.Token)
			}
		}
		if err != nil {
			return nil, nil, false, err
		}
		id, events = h.runID, slices.Clone(events)
		events[0].ID = h.id
	}
	if r, err = g.runs.get(id); err == nil && r == nil {
		err = fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	return r, events, open, err
}

func over(r *run) error { return fmt.Errorf("run %s: %w", r.id, world.ErrTerminal) }

// sendTo is the delivery of a commit: what cannot arrive is dropped, and no limit holds it up.
func (g *group) sendTo(d *world.Delivery) error {
	id := d.Run
	if d.Token != "" {
		h, found, err := g.hooks.byToken(d.Token)
		if err != nil || !found {
			return err
		}
		id = h.runID
	}
	r, err := g.runs.get(id)
	if err != nil || r == nil || !r.live {
		return err
	}
	_, events, _, err := g.addressee(d)
	if err != nil {
		return err
	}
	g.tx.count().deliveries++
	_, err = g.inbox.put(r, d.ID, noKey, events)
	return err
}

// act appends to the log of a run that nobody owns, or goes to its inbox. A forced cancel is appended in any case.
func (g *group) act(r *run, d *world.Delivery) (done world.Delivered, err error) {
	e := d.Events[0]
	done = world.Delivered{Run: r.id, Owner: g.workers.id(r.owner)}
	if !r.live && e.Type == world.RunCancelled {
		if err := g.unqueued(r); err != nil {
			return done, err
		}
		defer func() { r.live = false }() // there is no queue row, whatever comes of it
	}
	k := keyOf(d)
	facts := rules.Acted{Live: r.live, Owned: r.owner != 0, Blocked: r.blocked, Begun: r.running && r.claim > 0, Delayed: !r.running && r.wake.After(g.tx.now())}
	if !r.live {
		if done, err = g.delivered.again(r, d, k); err != nil || done.Duplicate {
			return done, err
		}
		last, err := g.logs.lastKnown(r)
		if err == nil {
			facts.End = last.Type
			_, err = rules.Act(d, facts)
		}
		return done, err
	}
	if e.Type != world.RunCancelled && r.owner == 0 {
		if err := g.rightPause(r); err != nil {
			return done, err
		}
	}
	if done, err = g.delivered.note(r, d, k); err != nil || done.Duplicate { // its ID is known from now on, whatever becomes of it
		return done, err
	}
	if facts.Paused = r.paused; facts.Queues(d) {
		if facts.Waits, err = g.inbox.actWaits(r, world.RunPaused, world.RunResumed); err != nil {
			return done, err
		}
	}
	deed, err := rules.Act(d, facts)
	if err != nil {
		return done, err
	}
	if deed.Retry {
		if err := g.queue.retry(r); err != nil {
			return done, err
		}
	}
	switch {
	case deed.Post:
		g.tx.count().deliveries++
		if _, err = g.inbox.put(r, d.ID, k, []world.Event{e}); err == nil && deed.Ends {
			err = g.queue.resumes(r)
		}
	case deed.Append:
		err = g.writeAct(r, e, d.ID)
	}
	return done, err
}

// writeAct appends an act to the log.
func (g *group) writeAct(r *run, e world.Event, id string) error {
	last, err := g.logs.lastKnown(r)
	if err != nil {
		return err
	}
	r.last = last.Seq
	e.Delivery, e.Time = id, rules.Later(g.tx.now(), last.Time)
	g.tx.count().commits++
	g.tx.count().deliveries++
	if e.Type == world.RunCancelled {
		return g.force(r, &e)
	}
	if err := g.logs.append(r, [16]byte{}, "", last.Seq+1, []world.Event{e}); err != nil {
		return err
	}
	return g.queue.pause(r, e.Type == world.RunPaused)
}

// unqueued takes a run that has lost its queue row, though it has not ended, as one that is not over, so that a forced cancel can end it.
func (g *group) unqueued(r *run) error {
	version := 0
	if _, err := g.tx.one(showRun, func(row row) error {
		kept := scanRun(row)
		r.live, version = kept.Queue == nil && !kept.Status.Terminal(), kept.Version
		return nil
	}, r.id); err != nil || !r.live {
		return err
	}
	r.running = false
	q := world.EventQuery{Types: []world.EventType{world.RunCreated, world.RunStarted, world.RunContinued}}
	for page, from := (world.EventPage{More: true}), int64(0); page.More; {
		var err error
		var rows int64
		page, rows, err = readEvents(g.tx.conn(), r.id, from, &q)
		g.tx.count().rowsRead += rows
		if rules.Unreadable(err) {
			r.running = true
			break
		}
		if err == nil {
			from, err = world.ParseCursor(page.Cursor)
		}
		if err != nil {
			return err
		}
		for i := range page.Events {
			e := &page.Events[i]
			r.running = r.running || e.Type != world.RunCreated
			switch {
			case e.Birth != nil:
				version = e.Birth.Version
			case e.Version != 0:
				version = e.Version
			case e.Next != nil && e.Next.Version != 0:
				version = e.Next.Version
			case e.Next != nil && e.Next.Base != nil:
				version = e.Next.Base.Version
			}
		}
	}
	r.isCounted()
	var err error
	r.class, err = g.classes.key(world.Class{Workflow: r.workflow, Version: version})
	return err
}
