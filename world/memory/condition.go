// Conditions: the parts of a commit whose content depends on what others have done, and the rest that only the world can
// check: tokens and the IDs of children.

package memory

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// plan is what a commit will write, decided but not written.
type plan struct {
	events  []world.Event // the commit's own while nothing changed
	changed bool
	births  []*world.Commit
	rows    [][]row // of births
	row     row
	parts   []row // instead of row: of a client's birth, whose log may be long
	awaits  []await
}

type await struct {
	target *run
	step   string
}

// decide settles what a commit will write. r is nil for a birth.
func (w *World) decide(c *world.Commit, r *run) (plan, error) {
	if len(c.Events) == 0 && len(c.Births) == 0 {
		return plan{}, nil
	}
	p := plan{events: c.Events, births: c.Births}
	if createsHook(c.Events) {
		if err := w.decideTokens(c, r, &p); err != nil {
			return plan{}, err
		}
	}
	if len(c.Births) > 0 || len(c.Conditions) > 0 {
		if err := w.decideOthers(c, &p); err != nil {
			return plan{}, err
		}
	}
	return p, nil
}

func createsHook(events []world.Event) bool {
	for i := range events {
		if events[i].Type == world.HookCreated {
			return true
		}
	}
	return false
}

// decideTokens gives each new hook its token, or puts the conflict in its place.
func (w *World) decideTokens(c *world.Commit, r *run, p *plan) error {
	freed := make(map[string]bool)   // tokens of this run that the commit gives up
	taken := make(map[string]string) // tokens that it takes, with the hook's ID
	for i := range p.events {
		e := &p.events[i]
		switch e.Type {
		case world.HookDisposed, world.RunContinued:
			freeTokens(r, e, freed, taken)
		case world.HookCreated:
			holder := c.Run
			if _, ok := taken[e.Token]; !ok {
				h := w.tokens[e.Token]
				if h == nil || freed[e.Token] {
					taken[e.Token] = e.ID
					continue
				}
				holder = h.run.id
			}
			conditional := slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Event == i })
			if !conditional {
				return fmt.Errorf("run %s: hook %s: token is held by run %s: %w", c.Run, e.ID, holder, world.ErrConflict)
			}
			p.own()
			p.events[i] = world.Event{
				Type: world.HookConflict, Time: e.Time, ID: e.ID, Name: e.Name, Path: e.Path,
				Occurrence: e.Occurrence, Token: e.Token, Peer: holder,
			}
		}
	}
	return nil
}

// freeTokens notes the tokens that an event gives up.
func freeTokens(r *run, e *world.Event, freed map[string]bool, taken map[string]string) {
	over := func(id string) bool {
		if e.Type == world.HookDisposed {
			return id == e.ID
		}
		return !slices.Contains(e.Next.Hooks, id)
	}
	for token, id := range taken {
		if over(id) {
			delete(taken, token)
		}
	}
	if r == nil {
		return
	}
	for id, h := range r.hooks {
		if over(id) {
			freed[h.token] = true
		}
	}
}

// decideOthers settles births and awaits. What has its answer already gets it behind all events.
func (w *World) decideOthers(c *world.Commit, p *plan) error {
	var left []int // births that are left out
	for i, b := range c.Births {
		if err := w.childBlocked(c, i); err == nil {
			continue
		} else if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Birth == i && childOf(c, cond) }) {
			return fmt.Errorf("run %s: child %s: %w", c.Run, b.Run, err)
		}
		left = append(left, i)
	}
	conditions := slices.SortedStableFunc(slices.Values(c.Conditions), func(a, b world.Condition) int { return a.Event - b.Event })
	for _, cond := range conditions {
		e := &c.Events[cond.Event]
		switch {
		case e.Type != world.StepCreated:
		case e.Kind == world.KindChild && slices.Contains(left, cond.Birth):
			p.after(world.Event{Type: world.StepFailed, ID: e.ID, Error: &world.Error{
				Message: "run " + c.Births[cond.Birth].Run + " exists", Code: world.CodeRunExists, Permanent: true,
			}})
		case e.Kind == world.KindAwait:
			target := w.runs[e.Peer]
			switch {
			case target == nil:
				p.after(world.Event{Type: world.StepFailed, ID: e.ID, Error: &world.Error{
					Message: "run " + e.Peer + " is unknown", Code: world.CodeNotFound, Permanent: true,
				}})
			case target.end != nil:
				p.after(world.ResultFor(target.end, e.ID))
			default:
				p.awaits = append(p.awaits, await{target: target, step: e.ID})
			}
		}
	}
	if len(left) > 0 {
		p.births = nil
		for i, b := range c.Births {
			if !slices.Contains(left, i) {
				p.births = append(p.births, b)
			}
		}
	}
	return nil
}

func childOf(c *world.Commit, cond world.Condition) bool {
	e := &c.Events[cond.Event]
	return e.Type == world.StepCreated && e.Kind == world.KindChild
}

// childBlocked says why a child cannot be born: its ID or its idempotency key is taken, by a run or by a sibling before it.
func (w *World) childBlocked(c *world.Commit, i int) error {
	b := c.Births[i]
	if b.Run == c.Run || w.runs[b.Run] != nil {
		return world.ErrRunExists
	}
	birth := b.Events[0].Birth
	key := idempotencyKey{birth.Workflow, birth.Key}
	if birth.Key != "" && w.keys[key] != nil {
		return fmt.Errorf("idempotency key %q: %w", birth.Key, world.ErrRunExists)
	}
	for _, s := range c.Births[:i] {
		sibling := s.Events[0].Birth
		if s.Run == b.Run || birth.Key != "" && key == (idempotencyKey{sibling.Workflow, sibling.Key}) {
			return world.ErrRunExists
		}
	}
	return nil
}

// after appends an answer behind the events of the commit, at the time of the last one.
func (p *plan) after(e world.Event) {
	p.own()
	e.Time = p.events[len(p.events)-1].Time
	p.events = append(p.events, e)
}

// own makes the events the plan's own, to be changed.
func (p *plan) own() {
	if !p.changed {
		p.events, p.changed = slices.Clone(p.events), true
	}
}

// encodePlan makes the rows of a plan: the last thing that can refuse a commit.
func (w *World) encodePlan(c *world.Commit, r *run, p *plan) error {
	for _, b := range p.births {
		rows, err := w.encodeBirth(b, b.Events)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, rows)
	}
	if len(p.events) == 0 {
		return nil
	}
	birth := p.events[0].Time
	if r != nil {
		birth = r.created
	}
	var err error
	if r == nil && c.Worker == "" && len(p.events) > 1 {
		p.parts, err = w.encodeBirth(c, p.events)
	} else {
		p.row, err = w.encode(c, birth, p.events)
	}
	return err
}

// encodeBirth makes the rows of the log that a run is born with, by no worker.
func (w *World) encodeBirth(c *world.Commit, events []world.Event) (rows []row, err error) {
	for _, part := range world.Parts(events) {
		enc, err := w.encode(c, events[0].Time, part)
		if err != nil {
			return nil, err
		}
		enc.bytes, enc.events = slices.Clone(enc.bytes), part
		rows = append(rows, enc)
	}
	return rows, nil
}
