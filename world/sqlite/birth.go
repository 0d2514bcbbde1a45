package sqlite

import (
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	runByIdem   = load("run_by_idem")
	insertQueue = load("insert_queue")
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
	if b.Key != "" || len(c.Conditions) > 0 { // else nothing depends on it, and the insert itself finds out
		if err := g.runs.free(c.Run); errors.Is(err, world.ErrRunExists) {
			return world.BornBefore(c, existing)
		} else if err != nil {
			return done, err
		}
	}
	if existing != "" {
		return world.Committed{Existing: existing}, nil
	}
	owner, p, err := g.mayBeBorn(c)
	if err != nil {
		if taken := g.runs.free(c.Run); taken != nil {
			err = taken // that comes before any other reason
		}
		return done, err
	}
	r, err := g.bearWith(c, owner, &p)
	if err != nil {
		return done, err
	}
	g.tx.count().commits++
	if p.Changed {
		done.Events = c.Written(p.Events)
	}
	if c.Release != nil && r.live && r.owner != 0 {
		q := r.queued()
		done.Mail, err = g.release(c, r, &q)
	}
	return done, err
}

// free refuses a run ID that is taken.
func (rs *runs) free(id string) (err error) {
	r := rs.byID[id]
	taken := r != nil && !r.stale
	if !taken {
		taken, err = rs.tx.one(readRun, func(row) error { return nil }, id)
	}
	if taken {
		return fmt.Errorf("run %s: %w", id, world.ErrRunExists)
	}
	return err
}

// mayBeBorn checks all but the ID and the idempotency key, and tells who owns the run and what is to be written.
func (g *group) mayBeBorn(c *world.Commit) (owner int64, p rules.Plan, err error) {
	if c.Worker != "" {
		if owner = g.worker(c.Worker); owner == 0 {
			return 0, p, fmt.Errorf("run %s: worker %s: %w", c.Run, c.Worker, world.ErrLeaseLost)
		}
	}
	if len(c.Held) > 0 {
		return 0, p, fmt.Errorf("run %s: task %s: %w", c.Run, c.Held[0].Step, world.ErrLeaseLost)
	}
	p, err = g.decide(c)
	return owner, p, err
}

func (rs *runs) byKey(workflow, key string) (id string, err error) {
	_, err = rs.tx.one(runByIdem, func(r row) error { id = r.text(0); return nil }, workflow, key)
	return id, err
}

// bear writes a birth that was checked, with all that comes with it.
func (g *group) bear(c *world.Commit, owner int64) (*run, error) {
	return g.bearWith(c, owner, &rules.Plan{Events: c.Events})
}

func (g *group) bearWith(c *world.Commit, owner int64, p *rules.Plan) (*run, error) {
	e := &c.Events[0]
	b := e.Birth
	attrs, err := world.AttributeText(b.Attributes)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	r := &run{id: c.Run, created: e.Time, sealed: e.Sealed, retention: b.Retention, workflow: b.Workflow, live: true, priority: int64(b.Priority), owner: owner}
	if err := g.runs.bear(r, b, attrs); err != nil {
		return nil, err
	}
	if err := g.findBy(r.key, nil, b.Attributes); err != nil {
		return nil, err
	}
	if r.class, err = g.classes.key(world.Class{Workflow: b.Workflow, Version: b.Version}); err != nil {
		return nil, err
	}
	if owner != 0 {
		r.take = 1
	}
	if r.wake = b.NotBefore; r.wake.Before(g.tx.now()) {
		r.wake = g.tx.now()
	}
	if err := g.appendBirth(r, c, p.Events); err != nil {
		return nil, err
	}
	q := r.queued()
	if err := g.follow(r, p.Events, &q); err != nil {
		return nil, err
	}
	r.class, r.running, r.paused = q.class, q.running, q.paused
	if b.Parent != nil {
		if err := g.noteParent(r, b.Parent); err != nil {
			return nil, err
		}
	}
	if err := g.around(c, r, p); err != nil {
		return nil, err
	}
	if end := terminal(p.Events); end != nil {
		return r, g.end(r, end, r.running)
	}
	return r, g.enqueue(r, c.Release)
}

// enqueue gives a new run its queue row. One that its worker gives up at once is never seen as owned; where the commit has sent mail to it as well, it is
// released in the usual way.
func (g *group) enqueue(r *run, rel *world.Release) error {
	if rel != nil && !r.mail {
		return g.enqueueAtRest(r, rel)
	}
	if err := g.tx.exec(insertQueue, r.key, r.class, bit(r.running), r.priority, key(r.owner), r.take, micros(r.wake), bit(r.paused), nil, int64(0), nil); err != nil {
		return err
	}
	g.totals.recount(r, r.standing())
	if r.owner == 0 {
		g.tx.notice(world.NoticeWork, r.id)
	} else {
		g.owned(r.owner, r, true)
	}
	return nil
}

func (g *group) enqueueAtRest(r *run, rel *world.Release) error {
	blocked, err := blockText(r, rel.Blocked)
	if err != nil {
		return err
	}
	r.owner = 0
	if err := g.tx.exec(insertQueue, r.key, r.class, bit(r.running), r.priority, nil, r.take, micros(rel.WakeAt), bit(r.paused), blocked, bit(rel.Full),
		orNull(rel.Waiting)); err != nil {
		return err
	}
	g.atRest(r, r.queued(), rel)
	return nil
}

// appendBirth writes the log that a run is born with: a client's may be long, and has several rows then.
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

// key keeps 0 as null.
func key(k int64) any {
	if k == 0 {
		return nil
	}
	return k
}

// noteParent notes the parent's step as one that waits for this run.
func (g *group) noteParent(r *run, parent *world.Parent) error {
	p, err := g.runs.get(parent.Run)
	if err != nil || p == nil || parent.Step == "" {
		return err
	}
	p.awaits, r.awaited = true, true
	return g.tx.exec(insertAwait, r.key, p.key, parent.Step)
}
