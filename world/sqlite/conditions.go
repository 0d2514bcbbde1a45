package sqlite

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// decide settles what a commit will write.
func (g *group) decide(c *world.Commit) (p rules.Plan, err error) {
	for i := range c.Messages {
		if name := c.Messages[i].Queue; i == 0 || name != c.Messages[i-1].Queue {
			if _, err := queueNamed(g.tx.conn(), name); err != nil {
				return p, err
			}
		}
	}
	q, asks := rules.Ask(c)
	if !asks {
		return rules.Unasked(c), nil
	}
	f := rules.Facts{Holders: make(map[string]rules.Holder), Targets: make(map[string]rules.Target)}
	for _, token := range q.Tokens {
		if h, found, err := g.hooks.byToken(token); err != nil {
			return p, err
		} else if found {
			f.Holders[token] = rules.Holder{Run: h.runID, Hook: h.id}
		}
	}
	f.Births = make([]rules.Conflict, len(c.Births))
	singles := rules.SinglesOf(c)
	for i, b := range c.Births {
		if f.Births[i], err = g.conflict(b); err != nil {
			return p, err
		}
		if f.Births[i] != rules.Free {
			continue
		}
		if live, err := singles.Meet(i, g.singles.live); err != nil {
			return p, err
		} else if live != "" {
			f.Births[i] = f.Kept(i, live)
		}
	}
	for _, id := range q.Runs {
		target, err := g.runs.get(id)
		if err == nil {
			target, err = g.newest(target, c.Run)
		}
		var t rules.Target
		if err == nil {
			t, err = g.target(target)
		}
		if err != nil {
			return p, fmt.Errorf("run %s: await: %w", c.Run, err)
		}
		if target != nil && target.id != id {
			t.Run = target.id
		}
		f.Targets[id] = t
	}
	return rules.Settle(c, &f)
}

// target is what is known of a run whose end is to be awaited; nil is one that is unknown.
func (g *group) target(r *run) (rules.Target, error) {
	switch {
	case r == nil:
		return rules.Target{}, nil
	case r.live:
		return rules.Target{Live: true}, nil
	}
	return rules.Ended(g.logs.lastEvent(r))
}

// newest is what took the place of a run that another waits for, or the run itself.
func (g *group) newest(r *run, waiter string) (*run, error) {
	for r != nil && !r.live {
		id, err := g.runs.retryOf(r)
		if err != nil {
			return nil, err
		}
		next, err := g.runs.get(id)
		if err != nil || next == nil || id == waiter {
			return r, err
		}
		r = next
	}
	return r, nil
}

// conflict says why a run cannot be created.
func (g *group) conflict(c *world.Commit) (rules.Conflict, error) {
	r, err := g.runs.get(c.Run)
	if err != nil || r != nil {
		return rules.SameID, err
	}
	if b := c.Events[0].Birth; b.Key != "" {
		if existing, err := g.runs.byKey(b.Workflow, b.Key); err != nil || existing != "" {
			return rules.SameKey, err
		}
	}
	return rules.Free, nil
}
