// What a commit writes: what depends on others is settled, and rows are made.

package memory

import (
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// plan is what a commit will write, decided but not written.
type plan struct {
	rules.Plan
	rows  [][]row // of births
	row   row
	parts []row // instead of row: of a client's birth, whose log may be long
}

// decide settles what a commit will write.
func (w *World) decide(c *world.Commit) (p plan, err error) {
	p.Plan = rules.Unasked(c)
	q, asks := rules.Ask(c)
	if !asks {
		return p, nil
	}
	f := rules.Facts{Holders: make(map[string]rules.Holder), Targets: make(map[string]rules.Target)}
	for _, token := range q.Tokens {
		if h := w.tokens[token]; h != nil {
			f.Holders[token] = rules.Holder{Run: h.run.id, Hook: h.id}
		}
	}
	singles := rules.SinglesOf(c)
	for i, b := range c.Births {
		conflict := w.conflict(b)
		if conflict == rules.Free {
			if live, _ := singles.Meet(i, w.limits.singles.live); live != "" { // a map cannot fail
				conflict = f.Kept(i, live)
			}
		}
		f.Births = append(f.Births, conflict)
	}
	for _, id := range q.Runs {
		if r := w.runs[id]; r != nil {
			f.Targets[id] = targetOf(w, r, c.Run)
		}
	}
	p.Plan, err = rules.Settle(c, &f)
	return p, err
}

// targetOf is a run whose end a run wants to await, or what took its place.
func targetOf(w *World, r *run, waiter string) (t rules.Target) {
	for r.end != nil {
		next := w.keys[idempotencyKey{r.birth.Workflow, world.RetryKey(r.id)}]
		if next == nil || next.id == waiter {
			break
		}
		r, t.Run = next, next.id
	}
	t.Live, t.End = r.end == nil, r.end
	return t
}

func (w *World) conflict(c *world.Commit) rules.Conflict {
	b := c.Events[0].Birth
	switch {
	case w.runs[c.Run] != nil:
		return rules.SameID
	case b.Key != "" && w.said.gathers.byKey(b.Workflow, b.Key) != nil:
		return rules.SameKey
	}
	return rules.Free
}

// encodePlan makes the rows of a plan: the last thing that can refuse a commit.
func (w *World) encodePlan(c *world.Commit, r *run, p *plan) error {
	for _, b := range p.Births {
		rows, err := w.encodeBirth(b, b.Events)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, rows)
	}
	if len(p.Events) == 0 {
		return nil
	}
	birth := p.Events[0].Time
	if r != nil {
		birth = r.created
	}
	var err error
	if r == nil && c.Worker == "" && len(p.Events) > 1 {
		p.parts, err = w.encodeBirth(c, p.Events)
	} else {
		p.row, err = w.encode(c, birth, p.Events)
	}
	return err
}

// encodeBirth makes the rows of the log that a run is created with, by no worker.
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
