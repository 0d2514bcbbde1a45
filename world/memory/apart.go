// Values that are kept apart from logs.

package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// apart are values that are too large for a log, and the runs that hold them.
type apart struct {
	values map[string]*value
	runs   map[string]map[string]time.Time // by run and value: when it was written; zero: an event names it
}

type value struct {
	pieces  map[int][]byte
	key     string // ID of the one that they are encrypted with; "": they are plain
	holders int
}

// apartKeeper are the values that are kept apart.
type apartKeeper struct{ w *World }

// Values returns the store of large values; see [world.World].
func (w *World) Values() world.Values { return apartKeeper{w} }

// KeepPiece keeps a piece of a value apart; see [world.Values].
func (k apartKeeper) KeepPiece(ctx context.Context, p *world.Piece) error {
	if err := world.CheckPiece(p); err != nil {
		return err
	}
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.w.mu.Unlock()
	a, run, id, number := &k.w.apart, p.Run, p.Value, p.Number
	v := a.values[id]
	if v == nil && number == 0 {
		if a.values == nil {
			a.values, a.runs = make(map[string]*value), make(map[string]map[string]time.Time)
		}
		v = &value{pieces: make(map[int][]byte), key: p.Key}
		a.values[id] = v
		a.hold(run, id, k.w.now())
	}
	at, held := a.runs[run][id]
	if !held {
		return world.NoPiece(run, id, number)
	}
	if _, ok := v.pieces[number]; !ok && !at.IsZero() {
		v.pieces[number] = slices.Clone(p.Data)
	}
	return nil
}

// Piece reads a piece of a value; see [world.Values].
func (k apartKeeper) Piece(ctx context.Context, run, id string, number int) ([]byte, error) {
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.mu.Unlock()
	if k.w.apart.held(run, id) {
		if piece, ok := k.w.apart.values[id].pieces[number]; ok {
			return slices.Clone(piece), nil
		}
	}
	return nil, world.NoPiece(run, id, number)
}

// DropValue deletes a value that no event names; see [world.Values].
func (k apartKeeper) DropValue(ctx context.Context, run, id string) error {
	if err := world.CheckValue(run, id); err != nil {
		return err
	}
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.w.mu.Unlock()
	if at, held := k.w.apart.runs[run][id]; held && !at.IsZero() {
		k.w.apart.release(id)
		delete(k.w.apart.runs[run], id)
	}
	return nil
}

// ValueKeys tells which keys values are encrypted with; see [world.Values].
func (k apartKeeper) ValueKeys(ctx context.Context) (out []world.ValueKey, err error) {
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.mu.Unlock()
	runs := map[string]int64{}
	for _, held := range k.w.apart.runs {
		keys := map[string]bool{}
		for id := range held {
			keys[k.w.apart.values[id].key] = true
		}
		for key := range keys {
			runs[key]++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(runs)) {
		out = append(out, world.ValueKey{Key: key, Runs: runs[key]})
	}
	return out, nil
}

// hold makes a run hold a value that is there. at is when it was written; zero: an event names it.
func (a *apart) hold(run, id string, at time.Time) {
	v := a.values[id]
	if v == nil {
		return // it was damaged
	}
	if !a.held(run, id) {
		v.holders++
	}
	if a.runs[run] == nil {
		a.runs[run] = make(map[string]time.Time)
	}
	a.runs[run][id] = at
}

// named makes a run hold what events of it refer to, which was checked, and what they name, where it holds that or
// another run does; "": none.
func (a *apart) named(run, of string, events []world.Event) {
	for i := range events {
		if events[i].Apart == "" {
			continue
		}
		whole, names := world.SplitApart(events[i].Apart)
		if whole != "" {
			a.hold(run, whole, time.Time{})
		}
		for _, id := range names {
			if a.held(run, id) || a.held(of, id) {
				a.hold(run, id, time.Time{})
			}
		}
	}
}

// held reports whether a run holds a value.
func (a *apart) held(run, id string) bool {
	_, ok := a.runs[run][id]
	return ok
}

// check refuses events of a run that refer to what neither it holds nor another run of which that is enough; "": none
// is.
func (a *apart) check(run, of string, events []world.Event) error {
	for i := range events {
		if id := world.WholeApart(events[i].Apart); id != "" && !a.held(run, id) && !a.held(of, id) {
			return world.NoValue(run, id)
		}
	}
	return nil
}

// lacks refuses a commit with events that name what their runs do not hold. What it is told of, it holds then.
func (a *apart) lacks(c *world.Commit, p *plan) error {
	if err := a.check(c.Run, c.OriginRun(), c.Events); err != nil {
		return err
	}
	for _, b := range p.Births {
		if err := a.check(b.Run, c.Run, b.Events); err != nil {
			return err
		}
	}
	return nil
}

// come makes the runs of a commit hold what its events have of other runs.
func (a *apart) come(c *world.Commit, p *plan) {
	a.named(c.Run, c.OriginRun(), p.Events)
	for _, t := range p.Told {
		a.named(c.Run, t.Of, []world.Event{{Apart: t.Apart}})
	}
	for _, b := range p.Births {
		a.named(b.Run, c.Run, b.Events)
	}
}

// drop lets a run hold nothing any more.
func (a *apart) drop(run string) {
	for id := range a.runs[run] {
		a.release(id)
	}
	delete(a.runs, run)
}

// release notes that one run less holds a value.
func (a *apart) release(id string) {
	if v := a.values[id]; v.holders > 1 {
		v.holders--
	} else {
		delete(a.values, id)
	}
}

// sweep deletes what was written for runs that never came to be.
func (a *apart) sweep(now time.Time, runs map[string]*run) {
	before := now.Add(-world.ApartOrphan)
	for run, held := range a.runs {
		if runs[run] != nil {
			continue
		}
		old := true
		for _, at := range held {
			old = old && !at.IsZero() && at.Before(before)
		}
		if old {
			a.drop(run)
		}
	}
}
