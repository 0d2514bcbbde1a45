package sqlite

// Limits: which runs wait for a place. What changes when is in package rules; here are the rows. There is one
// writer, so a place that is free is another run's in the same transaction.

import (
	"context"
	"encoding/json"
	"fmt"

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
	inLine        = load("in_line")
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
}

var _ rules.Lines[*run] = (*limits)(nil)

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

// needs notes the places of a run that is created.
func (l *limits) needs(r *run, places []world.Place) error {
	if len(places) == 0 {
		return nil
	}
	r.placed, l.asked, l.any = &placed{}, true, true
	for i := range places {
		p := &places[i]
		id := p.ID()
		if err := l.tx.exec(knowLimit, p.Limit, int64(p.Number), bit(p.UntilEnd)); err != nil {
			return err
		}
		if err := l.tx.exec(needKey, id, p.Limit, p.Key); err != nil {
			return err
		}
		r.placed.Keys = append(r.placed.Keys, id)
		if p.UntilEnd {
			r.placed.Keeps++
		}
	}
	return nil
}

// may refuses what says another scope of a limit than what is kept, or than another of them.
func (l *limits) may(all []world.SaidLimit) error {
	if len(all) == 0 {
		return nil
	}
	scopes := make(map[string]bool)
	for i := range all {
		one := &all[i]
		kept, seen := scopes[one.Name]
		if !seen {
			kept = one.UntilEnd
			if _, err := l.tx.one(limitScope, func(r row) error { kept = r.bool(0); return nil }, one.Name); err != nil {
				return err
			}
			scopes[one.Name] = kept
		}
		if err := world.CheckScope(one.Name, one.UntilEnd, kept); err != nil {
			return err
		}
	}
	return nil
}

// mayNeed is [limits.may] of the places of a birth.
func (l *limits) mayNeed(b *world.Birth) error { return l.may(world.SaidBy(b.Places)) }

// say notes what a definition says of a limit, and admits whom that lets in.
func (l *limits) say(said world.SaidLimit) error {
	if err := l.tx.exec(knowLimit, said.Name, int64(said.Number), bit(said.UntilEnd)); err != nil {
		return err
	}
	n, err := l.tx.changed(sayLimit, said.Name, int64(said.Number))
	if err != nil || n == 0 {
		return err
	}
	return l.admit(said.Name)
}

// admit lets in who is first in each line of a limit whose number was changed.
func (l *limits) admit(name string) error {
	var keys []int64
	if err := l.tx.query(keysInLine, func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }, name); err != nil {
		return err
	}
	for _, key := range keys {
		if err := rules.Admit[*run](l, key); err != nil {
			return err
		}
	}
	return nil
}

// columns are what the row of a run in the queue has of its places.
func (p *placed) columns() (places, keeps, has, parked any) {
	if p == nil {
		return nil, int64(0), int64(0), nil
	}
	text, _ := json.Marshal(p.Keys) // of numbers: it does not fail
	return string(text), int64(p.Keeps), int64(p.Has), p.parked()
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
	if json.Unmarshal(r.bytes(from), &p.Keys) != nil || int(r.int(from+2)) > len(p.Keys) {
		return nil
	}
	p.Keeps, p.Has, p.Parked = int(r.int(from+1)), int(r.int(from+2)), !r.null(from+3)
	return p
}

// enter has a run that is created and due take its places, before its row is written.
func (l *limits) enter(r *run) error {
	if r.placed == nil || r.owner != 0 || r.paused || r.wake.After(l.tx.now()) {
		return nil
	}
	_, err := rules.Seek[*run](l, r)
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
	if whole, err = rules.Seek[*run](l, r); err != nil {
		return false, err
	}
	return whole, l.write(r, nil)
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
	if err := rules.Rest[*run](l, r, over); err != nil {
		return err
	}
	if !over {
		return l.write(r, nil)
	}
	for _, key := range r.placed.Keys {
		if err := l.tx.exec(leaveKey, key); err != nil {
			return err
		}
		if err := l.tx.exec(dropKey, key); err != nil {
			return err
		}
	}
	r.placed = nil
	return nil
}

func (l *limits) write(r *run, wake any) error {
	return l.tx.exec(writePlaced, r.key, int64(r.placed.Has), r.placed.parked(), wake)
}

// Placed is for package rules, as are those that follow.
func (l *limits) Placed(r *run) *rules.Placed { return &r.placed.Placed }

// Begun reports whether a run has.
func (l *limits) Begun(r *run) bool { return r.running }

// Room is how many places of a key are free. A key whose row is lost has none that anybody counts.
func (l *limits) Room(key int64) (room int, err error) {
	room = 1
	_, err = l.tx.one(keyRoom, func(row row) error { room = int(row.int(0)); return nil }, key)
	return room, err
}

// Hold changes how many places of a key are held.
func (l *limits) Hold(key int64, by int) error { return l.tx.exec(holdKey, key, int64(by)) }

// Join puts a run into the line of a key.
func (l *limits) Join(key int64, r *run, last bool) error {
	at := r.created
	if last {
		at = l.tx.now()
	}
	r.placed.at = at.UnixMicro()
	return l.tx.exec(joinLine, key, r.urgency(), r.placed.at, r.key)
}

// urgency orders the priorities in a line.
func (r *run) urgency() int64 { return rules.Priorities - 1 - r.priority }

// Leave takes it out.
func (l *limits) Leave(key int64, r *run) error {
	return l.tx.exec(leaveLine, key, r.urgency(), r.placed.at, r.key)
}

// First is who is first in a line. A row that is of nobody who stands there is dropped.
func (l *limits) First(key int64) (*run, bool, error) {
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
		var r *run
		if id != "" {
			if r, err = l.runs.get(id); err != nil {
				return nil, false, err
			}
		}
		if r != nil && r.live && r.key == who && r.placed != nil && r.placed.Parked && r.placed.at == at && r.placed.Keys[r.placed.Has] == key {
			return r, true, nil
		}
		if n, err := l.tx.changed(dropFirst, key); err != nil || n == 0 {
			return nil, false, err
		}
	}
}

// Moved makes a run that has all its places ready.
func (l *limits) Moved(r *run) error {
	if !r.placed.Whole() {
		return l.write(r, nil)
	}
	l.tx.notice(world.NoticeWork, r.id)
	r.wake = l.tx.now()
	return l.write(r, micros(r.wake))
}

var _ world.LimitKeeper = (*World)(nil)

// Limits are the file's; see [world.LimitKeeper].
func (w *World) Limits() world.Limiter { return limiter{w} }

// limiter tells of limits, and changes them.
type limiter struct{ w *World }

// ListLimits tells of all limits; see [world.Limiter].
func (k limiter) ListLimits(ctx context.Context) (all []world.Limit, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		return c.query(listLimits, func(r row) (bool, error) {
			l := world.Limit{Name: r.text(0), Said: int(r.int(1)), UntilEnd: r.bool(3)}
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
		n, err := g.tx.changed(setLimit, name, set)
		switch {
		case err != nil:
			return none, err
		case n == 0:
			return none, world.NoLimit(name)
		}
		return none, g.queue.limits.admit(name)
	})
	return err
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (k limiter) ListLimitKeys(ctx context.Context, limit, behind string, most int) (all []world.LimitKey, err error) {
	known := false
	err = k.w.read(ctx, func(c *conn) error {
		if err := c.query(listLimits, func(r row) (bool, error) { known = known || r.text(0) == limit; return true, nil }); err != nil || !known {
			return err
		}
		return c.query(listLimitKeys, func(r row) (bool, error) {
			all = append(all, world.LimitKey{Key: r.text(0), Used: int(r.int(1)), Waiting: int(r.int(2))})
			return true, nil
		}, limit, behind, int64(most), int64(world.MostCounted))
	})
	if err == nil && !known {
		err = world.NoLimit(limit)
	}
	return all, err
}

// InLine tells where a run stands; see [world.Limiter].
func (k limiter) InLine(ctx context.Context, run string) (in *world.InLine, err error) {
	found := false
	err = k.w.read(ctx, func(c *conn) error {
		_, err := c.one(inLine, func(r row) error {
			if found = true; !r.bool(6) && !r.null(2) {
				in = &world.InLine{Before: int(r.int(1)), Place: world.Place{Limit: r.text(2), Key: r.text(3), Number: int(r.int(4)), UntilEnd: r.bool(5)}}
			}
			return nil
		}, run, int64(world.MostCounted))
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	return in, err
}
