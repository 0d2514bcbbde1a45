package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

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
	if err != nil {
		return err
	}
	if target != nil && target.live {
		p.awaits = append(p.awaits, await{target: target, step: e.ID})
		return nil
	}
	result, err := g.resultOf(target, world.Await{Step: e.ID, Run: e.Peer})
	if err != nil {
		return fmt.Errorf("run %s: await: %w", c.Run, err)
	}
	p.after(result)
	return nil
}

// resultOf is what a step is told that waits for the end of a run which is over, or unknown (nil).
func (g *group) resultOf(target *run, a world.Await) (world.Event, error) {
	if target == nil {
		return stepFailed(a.Step, world.CodeNotFound, "run "+a.Run+" is unknown"), nil
	}
	last, err := g.lastEvent(target)
	if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) { // that is not the waiter's fault
		return stepFailed(a.Step, world.CodeCorrupt, err.Error()), nil
	}
	return world.ResultFor(&last, a.Step), err
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
