package sqlite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	insertRun   = load("insert_run")
	runByIdem   = load("run_by_idem")
	insertQueue = load("insert_queue")
)

// birth checks and writes the birth of a run that is nobody's child.
func (g *group) birth(c *world.Commit) (done world.Committed, err error) {
	b := c.Events[0].Birth
	taken := g.wr.cache.runs[c.Run] != nil
	if !taken {
		if taken, err = g.c.one(readRun, func(row) error { return nil }, c.Run); err != nil {
			return done, err
		}
	}
	if taken {
		return done, fmt.Errorf("run %s: %w", c.Run, world.ErrRunExists)
	}
	if b.Key != "" {
		existing, err := g.byIdem(b.Workflow, b.Key)
		if err != nil || existing != "" {
			return world.Committed{Existing: existing}, err
		}
	}
	owner := int64(0)
	if c.Worker != "" {
		if owner = g.worker(c.Worker); owner == 0 {
			return done, fmt.Errorf("run %s: worker %s: %w", c.Run, c.Worker, world.ErrLeaseLost)
		}
	}
	if len(c.Held) > 0 {
		return done, fmt.Errorf("run %s: task %s: %w", c.Run, c.Held[0].Step, world.ErrLeaseLost)
	}
	p, err := g.decide(c, nil)
	if err != nil {
		return done, err
	}
	g.commits++
	if p.changed {
		done.Events = p.read(c)
	}
	r, err := g.bearWith(c, owner, &p)
	if err != nil {
		return done, err
	}
	if c.Release != nil && r.live {
		q := r.queued()
		done.Mail, err = g.release(c, r, &q)
	}
	return done, err
}

func (g *group) byIdem(workflow, key string) (id string, err error) {
	_, err = g.c.one(runByIdem, func(r row) error { id = r.text(0); return nil }, workflow, key)
	return id, err
}

// bear writes a birth that was checked, with all that comes with it.
func (g *group) bear(c *world.Commit, owner int64) (*run, error) {
	return g.bearWith(c, owner, &plan{events: c.Events})
}

func (g *group) bearWith(c *world.Commit, owner int64, p *plan) (*run, error) {
	e := &c.Events[0]
	b := e.Birth
	attrs, err := attributesText(b.Attributes)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	r := &run{id: c.Run, created: e.Time, retention: b.Retention, workflow: b.Workflow, live: true, priority: int64(b.Priority), owner: owner}
	var parentRun, parentStep any
	if b.Parent != nil {
		parentRun, parentStep = b.Parent.Run, b.Parent.Step
	}
	if r.key, err = g.insert(insertRun, c.Run, b.Workflow, int64(b.Version), orNull(b.Key), r.priority, parentRun, parentStep,
		bit(b.Parent != nil && b.Parent.Detached), e.Time.UnixMicro(), int64(b.Retention), attrs); err != nil {
		return nil, err
	}
	if r.class, err = g.class(world.Class{Workflow: b.Workflow, Version: b.Version}); err != nil {
		return nil, err
	}
	if owner != 0 {
		r.take = 1
	}
	if r.wake = b.NotBefore; r.wake.Before(g.now) {
		r.wake = g.now
	}
	g.wr.cache.add(r)
	if err := g.append(r, c.ID, c.Build, 1, p.events); err != nil {
		return nil, err
	}
	q := r.queued()
	if err := g.follow(r, p.events, &q); err != nil {
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
	if end := terminal(p.events); end != nil {
		return r, g.end(r, end)
	}
	if err := g.exec(insertQueue, r.key, r.class, bit(r.running), r.priority, key(owner), r.take, micros(r.wake), bit(r.paused)); err != nil {
		return nil, err
	}
	if owner == 0 {
		g.notice(world.NoticeWork, r.id)
	} else {
		g.owned(owner, r, true)
	}
	return r, nil
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
	p, err := g.run(parent.Run)
	if err != nil || p == nil || parent.Step == "" {
		return err
	}
	p.awaits, r.awaited = true, true
	return g.exec(insertAwait, r.key, p.key, parent.Step)
}

// decide settles what a commit will write. r is nil for a birth.
func (g *group) decide(c *world.Commit, r *run) (plan, error) {
	p := plan{events: c.Events, births: c.Births}
	if err := g.decideTokens(c, r, &p); err != nil {
		return plan{}, err
	}
	if len(c.Births) > 0 || len(c.Conditions) > 0 {
		if err := g.decideOthers(c, &p); err != nil {
			return plan{}, err
		}
	}
	return p, nil
}

// decideOthers settles births and awaits. What has its answer already gets it behind all events.
func (g *group) decideOthers(c *world.Commit, p *plan) error {
	left := make(map[int]bool) // births that are left out
	for i, b := range c.Births {
		blocked, err := g.childBlocked(c, i)
		switch {
		case err != nil:
			return err
		case blocked == nil:
			continue
		case !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Birth == i && childOf(c, cond) }):
			return fmt.Errorf("run %s: child %s: %w", c.Run, b.Run, blocked)
		}
		left[i] = true
	}
	conditions := slices.SortedStableFunc(slices.Values(c.Conditions), func(a, b world.Condition) int { return a.Event - b.Event })
	for _, cond := range conditions {
		e := &c.Events[cond.Event]
		switch {
		case childOf(c, cond):
			if left[cond.Birth] {
				p.after(stepFailed(e.ID, world.CodeRunExists, "run "+c.Births[cond.Birth].Run+" exists"))
			}
		case e.Type == world.StepCreated && e.Kind == world.KindAwait:
			if err := g.decideAwait(c, e, p); err != nil {
				return err
			}
		}
	}
	if len(left) > 0 {
		p.births = nil
		for i, b := range c.Births {
			if !left[i] {
				p.births = append(p.births, b)
			}
		}
	}
	return nil
}

func (g *group) decideAwait(c *world.Commit, e *world.Event, p *plan) error {
	target, err := g.run(e.Peer)
	switch {
	case err != nil:
		return err
	case target == nil:
		p.after(stepFailed(e.ID, world.CodeNotFound, "run "+e.Peer+" is unknown"))
	case target.live:
		p.awaits = append(p.awaits, await{target: target, step: e.ID})
	default:
		last, err := g.lastEvent(target)
		if err != nil {
			return fmt.Errorf("run %s: await: %w", c.Run, err)
		}
		p.after(world.ResultFor(&last, e.ID))
	}
	return nil
}

func stepFailed(id, code, message string) world.Event {
	return world.Event{Type: world.StepFailed, ID: id, Error: &world.Error{Message: message, Code: code, Permanent: true}}
}

func childOf(c *world.Commit, cond world.Condition) bool {
	e := &c.Events[cond.Event]
	return e.Type == world.StepCreated && e.Kind == world.KindChild
}

// childBlocked says why a child cannot be born: its ID or its idempotency key is taken, by a run or by a sibling before it.
func (g *group) childBlocked(c *world.Commit, i int) (blocked, err error) {
	b := c.Births[i]
	birth := b.Events[0].Birth
	r, err := g.run(b.Run)
	if err != nil {
		return nil, err
	}
	if r != nil || b.Run == c.Run {
		return world.ErrRunExists, nil
	}
	if birth.Key != "" {
		existing, err := g.byIdem(birth.Workflow, birth.Key)
		if err != nil {
			return nil, err
		}
		if existing != "" {
			return fmt.Errorf("idempotency key %q: %w", birth.Key, world.ErrRunExists), nil
		}
	}
	for _, s := range c.Births[:i] {
		sibling := s.Events[0].Birth
		if s.Run == b.Run || birth.Key != "" && birth.Key == sibling.Key && birth.Workflow == sibling.Workflow {
			return world.ErrRunExists, nil
		}
	}
	return nil, nil
}

var lastHead = load("last_head")

// lastEvent reads the last event of a run.
func (g *group) lastEvent(r *run) (last world.Event, err error) {
	_, err = g.c.one(lastHead, func(row row) error {
		events, _, _, err := world.DecodeRow(r.id, r.created, row.int(0), int(row.int(2)), row.text(3), row.bytes(4))
		if err == nil {
			last = events[len(events)-1]
		}
		return err
	}, r.key)
	g.rowsRead++
	return last, err
}

var (
	attributesOf  = load("attributes_of")
	setAttributes = load("set_attributes")
)

// attributesText is how the attributes of a run are kept: a JSON object, or null. Values keep their bytes, which encoding/json would not do.
func attributesText(attrs map[string]json.RawMessage) (any, error) {
	if len(attrs) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !json.Valid(attrs[name]) {
			return nil, fmt.Errorf("%w: attribute %q is not JSON", world.ErrInvalid, name)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("%w: attribute %q: %w", world.ErrInvalid, name, err)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), attrs[name]...)
	}
	return string(append(out, '}')), nil
}

func (g *group) setAttribute(r *run, name string, value []byte) error {
	attrs := make(map[string]json.RawMessage)
	if _, err := g.c.one(attributesOf, func(row row) error {
		if row.null(0) {
			return nil
		}
		return json.Unmarshal(row.bytes(0), &attrs)
	}, r.key); err != nil {
		return err
	}
	attrs[name] = value
	return g.writeAttributes(r, attrs)
}

func (g *group) writeAttributes(r *run, attrs map[string]json.RawMessage) error {
	text, err := attributesText(attrs)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.id, err)
	}
	return g.exec(setAttributes, r.key, text)
}

// later is the time of an event that the world itself appends: never before the last one's.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
