// Limits: which runs wait for a place. What changes when is in package rules; here are the rows.

package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// limits are those of a World, under its lock.
type limits struct {
	w     *World
	named map[string]*world.Limit
	keys  map[int64]*limitKey
	news  *notices // of this call
}

// limitKey is a key of a limit that a run which is not over needs.
type limitKey struct {
	limit *world.Limit
	text  string
	used  int // places that are held
	live  int // runs that need it
	line  [rules.Priorities]partition
}

// placed is what a run has of the places that it needs.
type placed struct {
	rules.Placed
	places   []world.Place
	admitted time.Time // when it got the last of them in a line
}

var (
	_ world.LimitKeeper = (*World)(nil)
	_ rules.Lines[*run] = (*limits)(nil)
)

// Limits are the World's; see [world.LimitKeeper].
func (w *World) Limits() world.Limiter { return &w.limits }

// needs notes the places of a run that is created.
func (l *limits) needs(r *run) {
	if len(r.birth.Places) == 0 {
		return
	}
	l.make()
	r.placed = &placed{places: r.birth.Places}
	for _, p := range r.birth.Places {
		limit := l.named[p.Limit]
		if limit == nil {
			limit = &world.Limit{Name: p.Limit, Said: p.Number, UntilEnd: p.UntilEnd}
			l.named[p.Limit] = limit
		}
		id := p.ID()
		if l.keys[id] == nil {
			l.keys[id] = &limitKey{limit: limit, text: p.Key}
		}
		l.keys[id].live++
		r.placed.Keys = append(r.placed.Keys, id)
		if p.UntilEnd {
			r.placed.Keeps++
		}
	}
}

func (l *limits) make() {
	if l.keys == nil {
		l.named, l.keys = make(map[string]*world.Limit), make(map[int64]*limitKey)
	}
}

// settle has a run that nobody owns stand where it belongs: in line, if it is due and lacks a place; with no more
// places than it keeps, if it is not due. False: it stands in line.
func (l *limits) settle(r *run, n *notices) bool {
	if r.placed == nil || r.owner != nil {
		return true
	}
	due := r.due()
	known := r.cancels == 0 || l.w.known(r.class())
	if !due.IsZero() && !due.After(l.w.now()) && rules.RunsCode(r.cancels > 0, r.status == world.Running, r.blocked != nil, known) {
		return l.seek(r, true, n)
	}
	l.rest(r, false, n)
	return true
}

// may refuses what says another scope of a limit than what is known.
func (l *limits) may(all []world.SaidLimit) error {
	if len(all) == 0 {
		return nil
	}
	scopes := make(map[string]bool)
	for i := range all {
		kept, seen := scopes[all[i].Name]
		if limit := l.named[all[i].Name]; limit != nil {
			kept, seen = limit.UntilEnd, true
		}
		if !seen {
			kept = all[i].UntilEnd
		}
		scopes[all[i].Name] = kept
		if err := world.CheckScope(all[i].Name, all[i].UntilEnd, kept); err != nil {
			return err
		}
	}
	return nil
}

// mayNeed is [limits.may] of the places of a birth.
func (l *limits) mayNeed(b *world.Birth) error {
	return l.may(world.SaidBy(b.Places))
}

// say notes what definitions say, and admits whom that lets in.
func (l *limits) say(all []world.Definition, n *notices) {
	for i := range all {
		for _, said := range all[i].Limits {
			limit := l.named[said.Name]
			switch {
			case limit == nil:
				l.make()
				l.named[said.Name] = &world.Limit{Name: said.Name, Said: said.Number, UntilEnd: said.UntilEnd}
			case limit.Said != said.Number:
				limit.Said = said.Number
				l.admit(limit, n)
			}
		}
	}
}

// seek has a run that is due take its places, where its code runs if somebody claims it who knows its class, or
// not. False: it stands in line.
func (l *limits) seek(r *run, known bool, n *notices) bool {
	if r.placed == nil || r.placed.Whole() || !rules.RunsCode(r.cancels > 0, r.status == world.Running, r.blocked != nil, known) {
		return true
	}
	l.news = n
	whole, _ := rules.Seek[*run](l, r) // a map cannot fail
	return whole
}

// rest has a run that is not to be claimed give back what it does not keep; over: it has ended.
func (l *limits) rest(r *run, over bool, n *notices) {
	if r.placed == nil {
		return
	}
	l.news = n
	_ = rules.Rest[*run](l, r, over)
	if !over {
		return
	}
	for _, id := range r.placed.Keys {
		if k := l.keys[id]; k != nil {
			if k.live--; k.live == 0 {
				delete(l.keys, id)
			}
		}
	}
	r.placed = nil
}

// Placed is for package rules, as are those that follow.
func (l *limits) Placed(r *run) *rules.Placed { return &r.placed.Placed }

// Begun reports whether a run has.
func (l *limits) Begun(r *run) bool { return r.status == world.Running }

// Room is how many places of a key are free.
func (l *limits) Room(key int64) (int, error) {
	k := l.keys[key]
	return k.limit.Number() - k.used, nil
}

// Hold changes how many places of a key are held.
func (l *limits) Hold(key int64, by int) error {
	l.keys[key].used += by
	return nil
}

// Join puts a run into the line of a key.
func (l *limits) Join(key int64, r *run, last bool) error {
	at := r.created
	if last {
		at = l.w.now()
	}
	r.entry.move(&l.keys[key].line[r.birth.Priority], at.UnixMicro())
	return nil
}

// Leave takes it out.
func (l *limits) Leave(_ int64, r *run) error {
	r.entry.move(nil, 0)
	return nil
}

// First is who is first in a line.
func (l *limits) First(key int64) (*run, bool, error) {
	for p := range slices.Backward(l.keys[key].line[:]) {
		if e := l.keys[key].line[p].head(); e != nil {
			return e.run, true, nil
		}
	}
	return nil, false, nil
}

// Moved makes a run that has all its places ready.
func (l *limits) Moved(r *run) error {
	if r.placed.Whole() {
		r.placed.admitted = l.w.now()
		l.w.place(r, l.news)
	}
	return nil
}

// ListLimits tells of all limits; see [world.Limiter].
func (l *limits) ListLimits(ctx context.Context) (all []world.Limit, err error) {
	if err := l.w.enter(ctx); err != nil {
		return nil, err
	}
	defer l.w.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.named)) {
		all = append(all, *l.named[name])
	}
	return all, nil
}

// SetLimit changes a number; see [world.Limiter].
func (l *limits) SetLimit(ctx context.Context, name string, number *int) error {
	if number != nil {
		if err := world.CheckLimit(name, *number); err != nil {
			return err
		}
	}
	if err := l.w.enter(ctx); err != nil {
		return err
	}
	var n notices
	err := l.set(name, number, &n)
	l.w.mu.Unlock()
	l.w.tell(&n)
	return err
}

func (l *limits) set(name string, number *int, n *notices) error {
	limit := l.named[name]
	if limit == nil {
		return world.NoLimit(name)
	}
	if limit.Set = nil; number != nil {
		set := *number
		limit.Set = &set
	}
	l.admit(limit, n)
	return nil
}

// admit lets in who is first in each line of a limit whose number was changed.
func (l *limits) admit(limit *world.Limit, n *notices) {
	l.news = n
	for _, id := range slices.Sorted(maps.Keys(l.keys)) {
		if l.keys[id].limit == limit {
			_ = rules.Admit[*run](l, id)
		}
	}
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (l *limits) ListLimitKeys(ctx context.Context, limit, behind string, most int) (all []world.LimitKey, err error) {
	if err := l.w.enter(ctx); err != nil {
		return nil, err
	}
	defer l.w.mu.Unlock()
	if l.named[limit] == nil {
		return nil, world.NoLimit(limit)
	}
	texts := make(map[string]*limitKey)
	for _, k := range l.keys {
		if k.limit.Name == limit && (behind == "" || k.text > behind) {
			texts[k.text] = k
		}
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if len(all) == most {
			break
		}
		k, waiting := texts[text], 0
		for p := range k.line {
			waiting += len(k.line[p].items)
		}
		all = append(all, world.LimitKey{Key: text, Used: k.used, Waiting: min(waiting, world.MostCounted)})
	}
	return all, nil
}

// InLine tells where a run stands; see [world.Limiter].
func (l *limits) InLine(ctx context.Context, id string) (*world.InLine, error) {
	if err := l.w.enter(ctx); err != nil {
		return nil, err
	}
	defer l.w.mu.Unlock()
	r := l.w.runs[id]
	if r == nil {
		return nil, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	if r.placed == nil || !r.placed.Parked {
		return nil, nil
	}
	in := &world.InLine{Place: r.placed.places[r.placed.Has]}
	line := &l.keys[r.placed.Keys[r.placed.Has]].line
	in.Number = l.named[in.Limit].Number()
	for p := range line {
		for _, e := range line[p].items {
			if p > r.birth.Priority || p == r.birth.Priority && (e.due < r.entry.due || e.due == r.entry.due && e.order < r.entry.order) {
				in.Before++
			}
		}
	}
	in.Before = min(in.Before, world.MostCounted)
	return in, nil
}

// readyAt is when a run under limits that is due is ready: not before it was admitted, so that it stands behind
// who was ready then.
func (r *run) readyAt(due time.Time) time.Time {
	if r.placed != nil && !due.IsZero() && due.Before(r.placed.admitted) {
		return r.placed.admitted
	}
	return due
}
