package sqlite

// Limits: which runs wait for a place. What changes when is in package rules; here are the rows. There is one
// writer, so a place that is free is another run's in the same transaction.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	knowLimit     = load("know_limit")
	limitScope    = load("limit_scope")
	needKey       = load("need_key")
	leaveKey      = load("leave_key")
	dropKey       = load("drop_key")
	keyRoom       = load("key_room")
	payKey        = load("pay_key")
	retimeKeys    = load("retime_keys")
	againKey      = load("again_key")
	hasLine       = load("has_line")
	dueKeys       = load("due_keys")
	writePaid     = load("write_paid")
	holdKey       = load("hold_key")
	joinLine      = load("join_line")
	leaveLine     = load("leave_line")
	firstInLine   = load("first_in_line")
	dropFirst     = load("drop_first_in_line")
	writePlaced   = load("write_placed")
	lacksPlaces   = load("lacks_places")
	hasLimits     = load("has_limits")
	listLimits    = load("list_limits")
	setLimit      = load("set_limit")
	sayLimit      = load("say_limit")
	keysInLine    = load("keys_in_line")
	listLimitKeys = load("list_limit_keys")
	listHolders   = load("list_holders")
	inLine        = load("in_line")

	limitWeights     = load("limit_weights")
	listLimitWeights = load("list_limit_weights")
	dropLimitWeights = load("drop_limit_weights")
	sayLimitWeight   = load("say_limit_weight")
)

// placed is what a run has of the places that it needs.
type placed struct {
	rules.Placed
	at int64 // since when it stands in its line, µs, where it does
}

// limits are the rows of limits, keys and lines.
//
//   - A key has a row while a run that is not over needs it, and the row says how many of its places are held.
//   - A run that stands in a line is not ready, and its row says where it stands.
//   - As long as there is no limit, nobody looks for one.
type limits struct {
	tx   *txn
	runs *runs

	asked, any bool // it is known whether there are limits, and there are
	open       bool // rates let in: only where somebody claims, so that who pays begins
	rated      bool // the key whose room was asked for last is of a rate
}

var _ rules.Lines[liner] = (*limits)(nil)

// used reports whether there are limits.
func (l *limits) used() (bool, error) {
	if l.asked {
		return l.any, nil
	}
	found, err := l.tx.one(hasLimits, func(row) error { return nil })
	l.asked, l.any = err == nil, found
	return found, err
}

// forget has it asked anew: another connection has written, or a transaction was given up.
func (l *limits) forget() { l.asked = false }

// needs notes the places of a run, or of the task of a step, that is created; nil: it needs none.
func (l *limits) needs(places []world.Place, as world.SaidLimit) (of *placed, err error) {
	if len(places) == 0 {
		return nil, nil
	}
	l.asked, l.any = true, true
	placed := &placed{}
	for i, said := range world.SaidBy(places) {
		p := &places[i]
		id := p.ID()
		said.Steps, said.Messages = as.Steps, as.Messages
		if err := l.know(&said); err != nil {
			return nil, err
		}
		if err := l.tx.exec(needKey, id, p.Limit, p.Key); err != nil {
			return nil, err
		}
		if p.Refuse {
			if err := l.payAtStart(id); err != nil {
				return nil, err
			}
			continue
		}
		placed.Keys = append(placed.Keys, id)
		if p.UntilEnd {
			placed.Keeps++
		}
		if p.Per > 0 {
			placed.Rates++
		}
		of = placed
	}
	return of, nil
}

// know makes a limit be there.
func (l *limits) know(said *world.SaidLimit) error {
	return l.tx.exec(knowLimit, said.Name, int64(said.Number), bit(said.UntilEnd), int64(said.Per), int64(said.Burst), bit(said.Refuse),
		bit(said.Runs()), bit(said.Steps), bit(said.Messages))
}

// may refuses what says another scope of a limit than what is kept, or than another of them.
func (l *limits) may(all []world.SaidLimit) error {
	if len(all) == 0 {
		return nil
	}
	scopes := make(map[string]world.Scope)
	for i := range all {
		one := &all[i]
		kept, seen := scopes[one.Name]
		if !seen {
			is := *one
			if _, err := l.tx.one(limitScope, func(r row) error {
				is.UntilEnd, is.Per, is.Refuse = r.bool(0), time.Duration(r.int(1)), r.bool(2)
				return nil
			}, one.Name); err != nil {
				return err
			}
			kept = is.Scope()
			scopes[one.Name] = kept
		}
		if err := world.CheckScope(one.Name, one.Scope(), kept); err != nil {
			return err
		}
	}
	return nil
}

// mayNeed is [limits.may] of the places of a birth, and of its tasks.
func (l *limits) mayNeed(c *world.Commit) error {
	b := c.Events[0].Birth
	err := l.may(append(world.SaidBy(b.Places), world.TaskPlaces(c)...))
	if err == nil {
		err = l.refused(b)
	}
	if err != nil {
		return fmt.Errorf("workflow %s: %w", b.Workflow, err)
	}
	return nil
}

// say notes what a definition says of a limit, and admits whom that lets in.
func (l *limits) say(said world.SaidLimit) error {
	if err := l.know(&said); err != nil {
		return err
	}
	was, err := l.rateOf(said.Name)
	if err != nil {
		return err
	}
	n, err := l.tx.changed(sayLimit, said.Name, int64(said.Number), int64(said.Per), int64(said.Burst), bit(said.Runs()), bit(said.Steps), bit(said.Messages))
	if err != nil {
		return err
	}
	if weighed, err := l.weigh(&said); err != nil || n == 0 && !weighed {
		return err
	}
	return l.renew(said.Name, was)
}

// weigh notes what code says of the weights of keys, where that is not what is kept.
func (l *limits) weigh(said *world.SaidLimit) (changed bool, err error) {
	kept := make(map[string]int)
	if err := l.tx.query(limitWeights, func(r row) (bool, error) { kept[r.text(0)] = int(r.int(1)); return true, nil }, said.Name); err != nil {
		return false, err
	}
	if maps.Equal(kept, said.Weights) {
		return false, nil
	}
	if err := l.tx.exec(dropLimitWeights, said.Name); err != nil {
		return false, err
	}
	for key, weight := range said.Weights {
		if err := l.tx.exec(sayLimitWeight, said.Name, key, int64(weight)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// admit lets in who is first in each line of a limit whose number was changed.
func (l *limits) admit(name string) error {
	var keys []int64
	if err := l.tx.query(keysInLine, func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }, name); err != nil {
		return err
	}
	for _, key := range keys {
		if err := rules.Admit[liner](l, key); err != nil {
			return err
		}
	}
	return nil
}

// columns are what the row of a run in the queue has of its places.
func (p *placed) columns() (places, keeps, has, parked, rates any) {
	if p == nil {
		return nil, int64(0), int64(0), nil, int64(0)
	}
	return p.keys(), int64(p.Keeps), int64(p.Has), p.parked(), int64(p.Rates)
}

func (p *placed) keys() string {
	text, _ := json.Marshal(p.Keys) // of numbers: it does not fail
	return string(text)
}

func (p *placed) parked() any {
	if !p.Parked {
		return nil
	}
	return p.at
}

// scanPlaced reads them, from a column on. What cannot be read holds nobody back.
func scanPlaced(r row, from int) *placed {
	if r.null(from) {
		return nil
	}
	p := &placed{at: r.int(from + 3)}
	p.Keeps, p.Has, p.Rates = int(r.int(from+1)), int(r.int(from+2)), int(r.int(from+4))
	if json.Unmarshal(r.bytes(from), &p.Keys) != nil || p.Has < 0 || p.Has > len(p.Keys) {
		return nil
	}
	p.Keeps, p.Rates = min(max(p.Keeps, 0), len(p.Keys)), min(max(p.Rates, 0), len(p.Keys))
	p.Parked = !r.null(from+3) && !p.Whole()
	return p
}

// enter has a run that is created and due take its places, before its row is written.
func (l *limits) enter(r *run) error {
	if r.placed == nil || r.owner != 0 || r.paused || r.wake.After(l.tx.now()) {
		return nil
	}
	_, err := rules.Seek[liner](l, r)
	return err
}

// seek has a run that is to be claimed take the places that it lacks. False: it stands in line.
func (l *limits) seek(key int64, wk *worker, classes *classes) (whole bool, err error) {
	if used, err := l.used(); err != nil || !used {
		return true, err
	}
	id := ""
	if found, err := l.tx.one(lacksPlaces, func(row row) error { id = row.text(0); return nil }, key); err != nil || !found {
		return true, err
	}
	l.runs.reread(id)
	r, err := l.runs.get(id)
	if err != nil || r == nil || r.placed == nil || r.key != key {
		return true, err
	}
	class, err := classes.name(r.class)
	if err != nil {
		return false, err
	}
	if !rules.RunsCode(r.box.cancels(), r.running, r.blocked, wk.knows(class)) {
		return true, l.rest(r, false) // it is only ended
	}
	if whole, err = rules.Seek[liner](l, r); err != nil {
		return false, err
	}
	if err := l.write(r, nil); err != nil || !whole {
		return false, err
	}
	return true, l.claimed(r)
}

// knows reports whether a worker has registered a class.
func (wk *worker) knows(class world.Class) bool {
	for _, c := range wk.Classes {
		if c == class {
			return true
		}
	}
	return false
}

// rest has a run that is not to be claimed give back what it does not keep; over: it has ended.
func (l *limits) rest(r *run, over bool) error {
	if r.placed == nil {
		return nil
	}
	if err := rules.Rest[liner](l, r, over); err != nil {
		return err
	}
	if !over {
		return l.write(r, nil)
	}
	err := l.leave(r.placed.Keys)
	r.placed = nil
	return err
}

// leave notes that a run needs keys no more.
func (l *limits) leave(keys []int64) error {
	for _, key := range keys {
		if err := l.tx.exec(leaveKey, key); err != nil {
			return err
		}
		if err := l.tx.exec(dropKey, key); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) write(r *run, wake any) error {
	return l.tx.exec(writePlaced, r.key, int64(r.placed.Has), r.placed.parked(), wake)
}

// Placed is for package rules, as are those that follow.
func (l *limits) Placed(r liner) *rules.Placed { return &r.needs().Placed }

// Begun reports whether a run has.
func (l *limits) Begun(r liner) bool { return r.begun() }

// Room is how many places of a key are free. A key whose row is lost has none that anybody counts.
func (l *limits) Room(key int64) (room int, err error) {
	k, found, err := l.stands(key)
	if err != nil || !found {
		return 1, err
	}
	if l.rated && !l.open {
		return 0, nil
	}
	return k.room(l.tx.now().UnixNano()), nil
}

// Hold changes how many places of a key are held.
func (l *limits) Hold(key int64, by int) error {
	return l.tx.exec(holdKey, key, int64(by))
}

// Pay has one begin whom a rate has let in.
func (l *limits) Pay(key int64) error { return l.pay(key, 1) }

// Join puts a run, or a task, into the line of a key.
func (l *limits) Join(key int64, r liner, last bool) error {
	at := r.since()
	if last {
		at = l.tx.now()
	}
	r.needs().at = at.UnixMicro()
	return l.tx.exec(joinLine, key, r.urgency(), r.needs().at, r.number())
}

// urgency orders the priorities in a line.
func (r *run) urgency() int64 { return rules.Priorities - 1 - r.priority }

// Leave takes it out.
func (l *limits) Leave(key int64, r liner) error {
	return l.tx.exec(leaveLine, key, r.urgency(), r.needs().at, r.number())
}

// First is who is first in a line. A row that is of nobody who stands there is dropped.
func (l *limits) First(key int64) (liner, bool, error) {
	for {
		var at, who int64
		id := ""
		found, err := l.tx.one(firstInLine, func(row row) error {
			at, who, id = row.int(0), row.int(1), row.text(2)
			return nil
		}, key)
		if err != nil || !found {
			return nil, false, err
		}
		r, err := l.stander(who, id)
		if err != nil {
			return nil, false, err
		}
		if r != nil {
			if p := r.needs(); p != nil && p.Parked && p.at == at && p.Keys[p.Has] == key {
				return r, true, nil
			}
		}
		if n, err := l.tx.changed(dropFirst, key); err != nil || n == 0 {
			return nil, false, err
		}
	}
}

// stander is who stands in a row of a line: a run with an ID, or a task. Nil: nobody.
func (l *limits) stander(who int64, id string) (liner, error) {
	if who < -taskNumbers {
		m, err := messageOf(l, who+messageNumbers)
		if m == nil {
			return nil, err
		}
		return m, err
	}
	if who < 0 {
		t, err := l.task(who + taskNumbers)
		if t == nil {
			return nil, err
		}
		return t, err
	}
	if id == "" {
		return nil, nil
	}
	r, err := l.runs.get(id)
	if r == nil || err != nil || !r.live || r.key != who {
		return nil, err
	}
	return r, nil
}

// Moved makes one that has all its places ready.
func (l *limits) Moved(r liner) error {
	if r.needs().Whole() {
		l.tx.notice(r.news())
	}
	return r.moved(l)
}

// Limits returns the store of limits; see [world.World].
func (w *World) Limits() world.Limiter { return limiter{w} }

// limiter tells of limits, and changes them.
type limiter struct{ w *World }

// ListLimits tells of all limits; see [world.Limiter].
func (k limiter) ListLimits(ctx context.Context) (all []world.Limit, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		weights := make(map[string]map[string]int)
		if err := c.query(listLimitWeights, func(r row) (bool, error) {
			of := weights[r.text(0)]
			if of == nil {
				of = make(map[string]int)
				weights[r.text(0)] = of
			}
			of[r.text(1)] = int(r.int(2))
			return true, nil
		}); err != nil {
			return err
		}
		return c.query(listLimits, func(r row) (bool, error) {
			l := world.Limit{Name: r.text(0), Said: int(r.int(1)), UntilEnd: r.bool(3), Per: time.Duration(r.int(4)), Burst: int(r.int(5)), Refuse: r.bool(6)}
			l.Runs, l.Steps, l.Messages, l.Weights = r.bool(7), r.bool(8), r.bool(9), weights[l.Name]
			if !r.null(2) {
				set := int(r.int(2))
				l.Set = &set
			}
			all = append(all, l)
			return true, nil
		})
	})
	return all, err
}

// SetLimit changes a number; see [world.Limiter].
func (k limiter) SetLimit(ctx context.Context, name string, number *int) error {
	var set any
	if number != nil {
		if err := world.CheckLimit(name, *number); err != nil {
			return err
		}
		set = int64(*number)
	}
	_, err := ask(ctx, k.w, func(g *group) (none struct{}, err error) {
		was, err := g.queue.limits.rateOf(name)
		if err != nil {
			return none, err
		}
		n, err := g.tx.changed(setLimit, name, set)
		switch {
		case err != nil:
			return none, err
		case n == 0:
			return none, world.NoLimit(name)
		}
		return none, g.queue.limits.renew(name, was)
	})
	return err
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (k limiter) ListLimitKeys(ctx context.Context, limit, behind string, most int) (all []world.LimitKey, err error) {
	known, rate, now := false, rules.Rate{}, k.w.crew.now()
	err = k.w.read(ctx, func(c *conn) error {
		if err := c.query(listLimits, func(r row) (bool, error) {
			if r.text(0) == limit {
				known, rate = true, rules.Rate{Number: int(r.int(1)), Per: time.Duration(r.int(4)), Burst: int(r.int(5))}
				if !r.null(2) {
					rate.Number = int(r.int(2))
				}
			}
			return true, nil
		}); err != nil || !known {
			return err
		}
		return c.query(listLimitKeys, func(r row) (bool, error) {
			one := world.LimitKey{Key: r.text(0), Used: int(r.int(1)), Waiting: int(r.int(2)), Weight: int(r.int(5))}
			if at := rate.At(r.int(3), now, one.Used); at.After(now) {
				one.Next = at
			}
			if !r.null(4) {
				one.Oldest = time.UnixMicro(r.int(4)).UTC()
			}
			all = append(all, one)
			return true, nil
		}, limit, behind, int64(most), int64(world.MostCounted))
	})
	if err == nil && !known {
		err = world.NoLimit(limit)
	}
	return all, err
}

// ListHolders tells what holds places of a key; see [world.Limiter].
func (k limiter) ListHolders(ctx context.Context, limit, key string, most int) (all []world.LimitHolder, err error) {
	known := false
	err = k.w.read(ctx, func(c *conn) error {
		if err := c.query(listLimits, func(r row) (bool, error) {
			known = known || r.text(0) == limit
			return true, nil
		}); err != nil || !known {
			return err
		}
		return c.query(listHolders, func(r row) (bool, error) {
			h := world.LimitHolder{Run: r.text(0), Step: r.text(1), Name: r.text(2)}
			if !r.null(3) {
				h.Message = world.MessageID(time.UnixMicro(r.int(4)), r.int(3))
			}
			all = append(all, h)
			return true, nil
		}, limit, key, int64(most))
	})
	if err == nil && !known {
		err = world.NoLimit(limit)
	}
	return all, err
}

// InLine tells where a run stands, or a task of it; see [world.Limiter].
func (k limiter) InLine(ctx context.Context, run, step string) (in *world.InLine, err error) {
	found, of, args := false, inLine, []any{run, int64(world.MostCounted)}
	if step != "" {
		of, args = taskInLine, append(args, step)
	}
	err = k.w.read(ctx, func(c *conn) error {
		_, err := c.one(of, func(r row) error {
			if found = true; !r.bool(6) && !r.null(2) {
				in = &world.InLine{Before: int(r.int(1)), Place: world.Place{
					Limit: r.text(2), Key: r.text(3), Number: int(r.int(4)), UntilEnd: r.bool(5), Per: time.Duration(r.int(7)), Burst: int(r.int(8)),
				}}
				rate := rules.RateOf(&in.Place)
				in.At = rate.At(r.int(9), k.w.crew.now(), in.Before+int(r.int(10)))
			}
			return nil
		}, args...)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	return in, err
}
