package sqlite

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// birth checks and writes the birth of a run that is nobody's child.
func (g *group) birth(c *world.Commit) (done world.Committed, err error) {
	b := c.Events[0].Birth
	existing := ""
	if b.Key != "" {
		if existing, err = g.runs.byKey(b.Workflow, b.Key); err != nil {
			return done, err
		}
	}
	merged := world.MergedStarts(c)
	single := rules.SingleOf(c)
	if b.Key != "" || len(merged) > 0 || single != nil || c.Items > 0 || c.Ack != "" || c.Schedule != nil || len(c.Conditions) > 0 { // else the insert itself finds out
		if err := g.runs.free(c.Run); errors.Is(err, world.ErrRunExists) {
			if done, err = world.CreatedBefore(c, existing); err == nil {
				err = beside(&g.tx, c)
			}
			return done, err
		} else if err != nil {
			return done, err
		}
	}
	for i := 0; i < len(merged) && existing == ""; i++ {
		if existing, err = g.runs.byKey(b.Workflow, merged[i].ID); err != nil {
			return done, err
		}
	}
	if existing == "" && single != nil {
		if existing, err = g.singles.meet(single); err != nil {
			return done, err
		}
	}
	if existing != "" {
		return world.Committed{Existing: existing}, beside(&g.tx, c)
	}
	if c.Items > 0 {
		if id, err := g.gathers.find(c); err != nil || id != "" {
			return world.Committed{Existing: id, Gathering: true}, err
		}
	}
	owner, p, err := g.mayBeCreated(c)
	if err != nil {
		if exists := g.runs.free(c.Run); exists != nil {
			err = exists // that comes before any other reason
		}
		return done, err
	}
	if err := beside(&g.tx, c); err != nil {
		return done, err
	}
	r, err := g.createWith(c, owner, "", &p)
	if err != nil {
		return done, err
	}
	g.tx.count().commits++
	if p.Changed {
		done.Events = c.Written(p.Events)
	}
	if c.Release != nil && r.live && r.owner != 0 {
		done.Mail, err = g.queue.release(c, r, r.queued())
	}
	return done, err
}

// beside does what a birth does to what is no run.
func beside(tx *txn, c *world.Commit) error {
	if c.Schedule != nil { // it acknowledges nothing
		moved, err := putSchedule(tx, c.Schedule)
		if err == nil && !moved {
			err = world.ScheduleMoved(c.Schedule)
		}
		return err
	}
	return ack(tx, c)
}

// ack deletes the message that a birth acknowledges, if there is one. It is the last check, and the first change.
func ack(tx *txn, c *world.Commit) error {
	if c.Ack == "" {
		return nil
	}
	held, err := settle(tx, &world.Settlement{Receipt: c.Ack, Kind: world.Ack})
	if err == nil && !held {
		err = world.NoReceipt(c)
	}
	return err
}

// mayBeCreated checks all but the ID and the idempotency key, and tells who owns the run and what is to be written.
func (g *group) mayBeCreated(c *world.Commit) (owner int64, p rules.Plan, err error) {
	if c.Worker != "" {
		if owner = g.workers.key(c.Worker); owner == 0 {
			return 0, p, fmt.Errorf("run %s: worker %s: %w", c.Run, c.Worker, world.ErrLeaseLost)
		}
		held, err := g.queue.holds.has(c.Events[0].Birth.Workflow)
		if err == nil && held {
			err = world.HeldBirth(c)
		}
		if err != nil {
			return 0, p, err
		}
	}
	if len(c.Held) > 0 {
		return 0, p, fmt.Errorf("run %s: task %s: %w", c.Run, c.Held[0].Step, world.ErrLeaseLost)
	}
	if err := g.queue.limits.mayNeed(c); err != nil {
		return 0, p, fmt.Errorf("run %s: %w", c.Run, err)
	}
	p, err = g.decide(c)
	return owner, p, err
}

// createChild writes a birth that was checked, with all that comes with it, of a commit of another run.
func (g *group) createChild(c *world.Commit, by string) (*run, error) {
	return g.createWith(c, 0, by, &rules.Plan{Events: c.Events})
}

// createWith writes a birth, which may name values of another run: by, or its origin.
func (g *group) createWith(c *world.Commit, owner int64, by string, p *rules.Plan) (*run, error) {
	e := &c.Events[0]
	b := e.Birth
	attrs, err := world.AttributeText(b.Attributes)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	r := &run{id: c.Run, created: e.Time, encrypted: e.Encrypted, retention: b.Retention, workflow: b.Workflow, live: true, priority: int64(b.Priority), owner: owner}
	if err := g.runs.create(r, b, attrs); err != nil {
		return nil, err
	}
	if err := g.attributes.findBy(r.key, nil, b.Attributes); err != nil {
		return nil, err
	}
	if r.class, err = g.classes.key(world.Class{Workflow: b.Workflow, Version: b.Version}); err != nil {
		return nil, err
	}
	if r.placed, err = g.queue.limits.needs(b.Places, world.SaidLimit{}); err != nil {
		return nil, err
	}
	if owner != 0 {
		r.claim = 1
	}
	if r.wake = b.NotBefore; r.wake.Before(g.tx.now()) {
		r.wake = g.tx.now()
	}
	var opens world.Gathering
	if c.Items > 0 {
		opens = g.gathers.opens(c, r)
	}
	if err := g.tx.holdTold(r.id, p.Told); err != nil {
		return nil, err
	}
	r.origin = cmp.Or(by, c.OriginRun())
	err = g.appendBirth(r, c, p.Events)
	if r.origin = ""; err != nil {
		return nil, err
	}
	q := r.queued()
	if err := g.follow(r, p.Events, &q); err != nil {
		return nil, err
	}
	r.class, r.running, r.paused = q.class, q.running, q.paused
	for _, d := range world.BirthDeliveries(c) {
		if _, err := g.delivered.note(r, d, keyOf(d)); err != nil {
			return nil, err
		}
	}
	for _, d := range world.MergedStarts(c) {
		if err := g.gathers.merged(r, d, keyOf(d)); err != nil {
			return nil, err
		}
	}
	if b.Parent != nil {
		if err := g.awaits.noteParent(r, b.Parent); err != nil {
			return nil, err
		}
	}
	if err := g.around(c, r, p); err != nil {
		return nil, err
	}
	if end := rules.End(p.Events); end != nil {
		return r, g.end(r, end, r.running)
	}
	if err := g.queue.lapses(r, p.Events); err != nil {
		return nil, err
	}
	if err := g.queue.add(r, c.Release); err != nil {
		return nil, err
	}
	if c.Items > 0 {
		if err := g.gathers.opened(c, r, &opens); err != nil {
			return nil, err
		}
	}
	return r, g.singles.add(c, r)
}

// appendBirth writes the log that a run is created with: a client's may be long, and has several rows then.
func (g *group) appendBirth(r *run, c *world.Commit, events []world.Event) error {
	if c.Worker != "" || len(events) == 1 {
		return g.logs.append(r, c.ID, c.Build, 1, events)
	}
	for _, part := range world.Parts(events) {
		if err := g.logs.append(r, c.ID, c.Build, r.last+1, part); err != nil {
			return err
		}
	}
	return nil
}
