package postgres

// What only the world can decide: tokens, the IDs of children, the ends of other runs.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	hookByToken = load("hook_by_token")
	claimHooks  = load("claim_hooks")
	lastHead    = load("last_head")
	resumeWaits = load("resume_waits")
	runByIdem   = load("run_by_idem")
)

// insertChildren inserts the rows of births, but of those that are taken, and tells why they are.
func (d *draft) insertChildren(ctx context.Context, tx txn, keys []int64) (f rules.Facts, err error) {
	f.Births = make([]rules.Conflict, len(d.c.Births))
	singles := rules.SinglesOf(d.c)
	for i, b := range d.c.Births {
		if rules.Twin(d.c, i) {
			continue
		}
		if live, err := singles.Meet(i, func(key string) (string, error) { return liveRun(ctx, tx, key) }); err != nil {
			return f, err
		} else if live != "" {
			f.Births[i] = f.Kept(i, live)
			continue
		}
		existing, err := d.insert(ctx, tx, b, keys[i])
		switch {
		case existing != "":
			f.Births[i] = rules.SameKey
		case errors.Is(err, world.ErrRunExists):
			f.Births[i] = rules.SameID
		case err != nil:
			return f, err
		default:
			if err := claimSingle(ctx, tx, d, b, keys[i]); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// lookTargets looks up the runs that the commit wants to await, by ID; those that are unknown are left out.
func (d *draft) lookTargets(ctx context.Context, tx txn) (map[string]*run, error) {
	targets := make(map[string]*run)
	q, _ := rules.Ask(d.c)
	for _, id := range q.Runs {
		r, err := look(ctx, tx, id)
		for err == nil && r != nil {
			targets[id] = r
			if r, err = d.successor(ctx, tx, r); r != nil && r.id == d.c.Run {
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// successor is what took the place of a run that is over; nil: nothing did.
func (d *draft) successor(ctx context.Context, tx txn, r *run) (next *run, err error) {
	if r.live {
		return nil, nil
	}
	id := ""
	if err := tx.each(ctx, runByIdem, func(row scanner) error { return row.Scan(&id) }, r.workflow, world.RetryKey(r.id)); err != nil || id == "" {
		return nil, err
	}
	return look(ctx, tx, id)
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

// decide settles what the commit will write. Tokens that are granted are claimed at once. f has what is known of
// births, some of which are taken; children are their keys.
func (d *draft) decide(ctx context.Context, tx txn, targets map[string]*run, f rules.Facts, children []int64) (p plan, err error) {
	c := d.c
	q, _ := rules.Ask(c)
	f.Holders, f.Targets = make(map[string]rules.Holder), make(map[string]rules.Target)
	for _, token := range q.Tokens {
		if err := tx.each(ctx, hookByToken, func(row scanner) error {
			var h rules.Holder
			err := row.Scan(new(int64), &h.Hook, &h.Run)
			f.Holders[token] = h
			return err
		}, token); err != nil {
			return p, err
		}
	}
	for _, id := range q.Runs {
		if i := slices.IndexFunc(c.Births, func(b *world.Commit) bool { return b.Run == id }); i >= 0 && f.Births[i] == rules.Free {
			continue // it is created by this commit, and has no log yet
		}
		if f.Targets[id], err = targetOf(ctx, tx, id, targets[id]); err != nil {
			return p, fmt.Errorf("run %s: await: %w", c.Run, err)
		}
	}
	meant := make(map[string]*run, len(targets))
	for _, t := range targets {
		meant[t.id] = t
	}
	if p.Plan, err = rules.Settle(c, &f); err != nil {
		return p, err
	}
	for _, t := range p.Told {
		d.sheet.hold(c.Run, t.Of, t.Apart)
	}
	for _, a := range p.Awaits {
		row := awaitRow{step: clean(a.Step)}
		if i := slices.IndexFunc(c.Births, func(b *world.Commit) bool { return b.Run == a.Run }); meant[a.Run] == nil && i >= 0 {
			row.target = children[i]
		} else {
			row.target = meant[a.Run].key
		}
		p.awaits = append(p.awaits, row)
	}
	p.keys = []int64{}
	for i, b := range c.Births {
		if n := len(p.keys); n < len(p.Births) && p.Births[n] == b {
			p.keys = append(p.keys, children[i])
		}
	}
	p.claimed = len(q.Tokens) > 0
	return p, nil
}

// targetOf is what is known of a run whose end is to be awaited; nil is one that is unknown.
func targetOf(ctx context.Context, tx txn, asked string, r *run) (t rules.Target, err error) {
	switch {
	case r == nil:
		return t, nil
	case r.live:
		t.Live = true
	default:
		last, err := lastEvent(ctx, tx, r)
		if err == nil && !last.Type.Terminal() {
			err = errAgain // swept meanwhile
		}
		if t, err = rules.Ended(last, err); err != nil {
			return t, err
		}
	}
	if r.id != asked {
		t.Run = r.id
	}
	return t, nil
}

// lastKnown is what is known of the last event of a run whose log cannot be read there: its number. It serves who ends the run, or lets it rest.
func lastKnown(ctx context.Context, tx txn, r *run) (last world.Event, err error) {
	last, err = lastEvent(ctx, tx, r)
	if rules.Unreadable(err) {
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
	events, _, _, err := layout.ReadRow(r.id, r.created, seq, format, head, body, sumOf(sum))
	return events, err
}

// claim frees and takes tokens. Somebody who took one meanwhile is seen at the next attempt.
func (d *draft) claim(ctx context.Context, tx txn, key int64, events []world.Event) error {
	h := hookChanges{}
	for i := range events {
		h.follow(&events[i])
	}
	var s sheet
	h.free(key, &s)
	s.overHooks = hookRows(key, h.over)
	b := &script{db: &d.w.database}
	b.freeHooks(&s)
	if err := tx.run(ctx, b); err != nil || len(h.created) == 0 {
		return err
	}
	n, err := tx.exec(ctx, claimHooks, hookArgs(hookRows(key, h.created))...)
	if err == nil && n != int64(len(h.created)) {
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
