package postgres

// What only the world can decide: tokens, the IDs of children, the ends of other runs.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

var (
	hookByToken = load("hook_by_token")
	claimHooks  = load("claim_hooks")
	lastHead    = load("last_head")
	resumeWaits = load("resume_waits")
)

// insertChildren inserts the rows of births. One that is taken is left out where a condition names it, and refuses the commit where none does.
func (d *draft) insertChildren(ctx context.Context, tx txn, p *plan) error {
	c := d.c
	keys := d.keys
	if c.Birth() {
		keys = keys[1:]
	}
	p.births, p.keys = nil, []int64{}
	for i, b := range c.Births {
		if blocked, err := d.insertChild(ctx, tx, i, keys[i]); err != nil {
			return err
		} else if blocked == nil {
			p.births, p.keys = append(p.births, b), append(p.keys, keys[i])
		} else if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Birth == i && childOf(c, cond) }) {
			return fmt.Errorf("run %s: child %s: %w", c.Run, b.Run, blocked)
		}
	}
	return nil
}

// insertChild says why a child cannot be born: its ID or its idempotency key is taken, by a run or by a sibling before it.
func (d *draft) insertChild(ctx context.Context, tx txn, i int, key int64) (blocked, err error) {
	c := d.c
	b := c.Births[i]
	birth := b.Events[0].Birth
	for _, s := range c.Births[:i] {
		sibling := s.Events[0].Birth
		if s.Run == b.Run || birth.Key != "" && birth.Key == sibling.Key && birth.Workflow == sibling.Workflow {
			return world.ErrRunExists, nil
		}
	}
	existing, err := d.insert(ctx, tx, b, key)
	switch {
	case existing != "":
		return fmt.Errorf("idempotency key %q: %w", birth.Key, world.ErrRunExists), nil
	case errors.Is(err, world.ErrRunExists):
		return err, nil
	}
	return nil, err
}

func childOf(c *world.Commit, cond world.Condition) bool {
	e := &c.Events[cond.Event]
	return e.Type == world.StepCreated && e.Kind == world.KindChild
}

func awaitOf(c *world.Commit, cond world.Condition) bool {
	e := &c.Events[cond.Event]
	return e.Type == world.StepCreated && e.Kind == world.KindAwait
}

// lookTargets looks up the runs that the commit wants to await, by ID; those that are unknown are left out.
func (d *draft) lookTargets(ctx context.Context, tx txn) (map[string]*run, error) {
	targets := make(map[string]*run)
	for _, cond := range d.c.Conditions {
		if !awaitOf(d.c, cond) {
			continue
		}
		id := d.c.Events[cond.Event].Peer
		r, err := look(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if r != nil {
			targets[id] = r
		}
	}
	return targets, nil
}

// byKey puts runs in the order in which they are locked; one's own, which may be nil, stands for itself where it is a target too.
func byKey(own *run, targets map[string]*run) []*run {
	var all []*run
	if own != nil {
		all = append(all, own)
	}
	for _, t := range targets {
		if own == nil || t.key != own.key {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *run) int { return cmp.Compare(a.key, b.key) })
	return all
}

// decide settles what the commit will write. r is nil for a birth.
func (d *draft) decide(ctx context.Context, tx txn, r *run, targets map[string]*run, p *plan) error {
	key := int64(0)
	if r != nil {
		key = r.key
	} else if len(d.keys) > 0 {
		key = d.keys[0]
	}
	if err := d.decideTokens(ctx, tx, key, p); err != nil {
		return err
	}
	c := d.c
	conditions := slices.SortedStableFunc(slices.Values(c.Conditions), func(a, b world.Condition) int { return a.Event - b.Event })
	for _, cond := range conditions {
		e := &c.Events[cond.Event]
		switch {
		case childOf(c, cond):
			if child := c.Births[cond.Birth]; !slices.Contains(p.births, child) {
				p.after(stepFailed(e.ID, world.CodeRunExists, "run "+child.Run+" exists"))
			}
		case awaitOf(c, cond):
			if err := d.decideAwait(ctx, tx, e, targets[e.Peer], p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *draft) decideAwait(ctx context.Context, tx txn, e *world.Event, target *run, p *plan) error {
	if target != nil && target.live {
		p.awaits = append(p.awaits, awaitRow{target: target.key, step: clean(e.ID)})
		return nil
	}
	result, err := resultOf(ctx, tx, target, world.Await{Step: e.ID, Run: e.Peer})
	if err != nil {
		return fmt.Errorf("run %s: await: %w", d.c.Run, err)
	}
	p.after(result)
	return nil
}

// resultOf is what a step is told that waits for the end of a run which is over, or unknown (nil).
func resultOf(ctx context.Context, tx txn, target *run, a world.Await) (world.Event, error) {
	if target == nil {
		return stepFailed(a.Step, world.CodeNotFound, "run "+a.Run+" is unknown"), nil
	}
	last, err := lastEvent(ctx, tx, target)
	if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) { // that is not the waiter's fault
		return stepFailed(a.Step, world.CodeCorrupt, err.Error()), nil
	}
	if err == nil && !last.Type.Terminal() {
		err = errAgain // swept meanwhile
	}
	return world.ResultFor(&last, a.Step), err
}

// lastKnown is what is known of the last event of a run whose log cannot be read there: its number. It serves who ends the run, or lets it rest.
func lastKnown(ctx context.Context, tx txn, r *run) (last world.Event, err error) {
	last, err = lastEvent(ctx, tx, r)
	if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
		last, err = world.Event{Seq: r.last}, nil
	}
	return last, err
}

// lastEvent reads the last event of a run.
func lastEvent(ctx context.Context, tx txn, r *run) (last world.Event, err error) {
	err = tx.each(ctx, lastHead, func(row scanner) error {
		events, err := scanCommit(row, r)
		if err == nil {
			last = events[len(events)-1]
		}
		return err
	}, r.key)
	return last, err
}

// scanCommit reads a commit of a run: a row of last_head.
func scanCommit(row scanner, r *run) ([]world.Event, error) {
	var seq int64
	var format int
	var head string
	var body []byte
	var sum *int32
	if err := row.Scan(&seq, &format, &head, &body, &sum); err != nil {
		return nil, err
	}
	events, _, _, err := world.ReadRow(r.id, r.created, seq, format, head, body, sumOf(sum))
	return events, err
}

func stepFailed(id, code, message string) world.Event {
	return world.Event{Type: world.StepFailed, ID: id, Error: &world.Error{Message: message, Code: code, Permanent: true}}
}

// decideTokens gives each new hook its token, or puts the conflict in its place. A token that the commit itself gives up is free for its later
// events. What is granted is claimed at once.
func (d *draft) decideTokens(ctx context.Context, tx txn, key int64, p *plan) error {
	if !slices.ContainsFunc(p.events, func(e world.Event) bool { return e.Type == world.HookCreated }) {
		return nil
	}
	c := d.c
	taken := make(map[string]string) // tokens that the commit takes, with the hook's ID
	for i := range c.Events {
		e := &c.Events[i]
		if e.Type != world.HookCreated {
			continue
		}
		holder, err := d.holder(ctx, tx, key, c.Events[:i], e.Token, taken)
		if err != nil {
			return err
		}
		if holder == "" {
			taken[e.Token] = e.ID
			continue
		}
		if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Event == i }) {
			return fmt.Errorf("run %s: hook %s: token is held by run %s: %w", c.Run, e.ID, holder, world.ErrConflict)
		}
		if !p.changed {
			p.events, p.changed = slices.Clone(p.events), true
		}
		p.events[i] = world.Event{
			Type: world.HookConflict, Time: e.Time, ID: e.ID, Name: e.Name, Path: e.Path, Occurrence: e.Occurrence, Token: e.Token, Peer: holder,
		}
	}
	p.claimed = true
	return d.claim(ctx, tx, key, p.events)
}

// holder is the run that holds a token behind some events of the commit; "": nobody does.
func (d *draft) holder(ctx context.Context, tx txn, key int64, before []world.Event, token string, taken map[string]string) (string, error) {
	if id, ok := taken[token]; ok && !world.Frees(before, id) {
		return d.c.Run, nil
	}
	holder := ""
	err := tx.each(ctx, hookByToken, func(row scanner) error {
		var run int64
		var id, runID string
		if err := row.Scan(&run, &id, &runID); err != nil {
			return err
		}
		if run != key || !world.Frees(before, id) {
			holder = runID
		}
		return nil
	}, token)
	return holder, err
}

// claim frees and takes tokens. Somebody who took one meanwhile is seen at the next attempt.
func (d *draft) claim(ctx context.Context, tx txn, key int64, events []world.Event) error {
	h := hookChanges{}
	for i := range events {
		h.follow(&events[i])
	}
	var s sheet
	h.free(key, &s)
	b := &script{w: d.w}
	b.freeHooks(&s)
	if err := tx.run(ctx, b); err != nil || len(h.born) == 0 {
		return err
	}
	n, err := tx.exec(ctx, claimHooks, hookArgs(h.rows(key))...)
	if err == nil && n != int64(len(h.born)) {
		return errAgain
	}
	return err
}

// stillPaused looks, for a run that is to be released while it is paused, whether a resumption waits that the commit does not take: then the run is to
// be taken for that.
func (d *draft) stillPaused(ctx context.Context, tx txn, r *run) error {
	if d.c.Release == nil || !pausedAfter(r.paused, d.c.Events) {
		return nil
	}
	return tx.each(ctx, resumeWaits, func(scanner) error { d.resumed = true; return nil }, r.key, append([]int64{}, d.c.Mail...))
}
