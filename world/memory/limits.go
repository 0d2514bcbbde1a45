// Limits: which runs wait for a place. What changes when is in package rules; here are the rows.

package memory

import (
	"cmp"
	"container/heap"
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
	due   partition // keys of rates, by when they are to be looked at
	open  bool      // rates let in: only where somebody claims, so that who pays begins
	news  *notices  // of this call

	singles singles
	neglect rules.Neglect // of steps
	lonely  rules.Neglect // of classes
}

// limitKey is a key of a limit that a run which is not over needs.
type limitKey struct {
	limit *world.Limit
	text  string
	used  int // places that are held
	live  int // runs that need it
	line  [rules.Priorities]partition
	rated *rated // nil: it is of no rate
}

// placed is what a run has of the places that it needs.
type placed struct {
	rules.Placed
	places   []world.Place
	admitted time.Time // when it got the last of them in a line
	single   string    // the key of its singleton; "": it is none
	behind   string    // the run in whose place it is
}

var (
	_ rules.Lines[*entry] = (*limits)(nil)
)

// Limits returns the store of limits; see [world.World].
func (w *World) Limits() world.Limiter { return &w.limits }

// needs notes the places of a run, or of the task of a step, that is created; nil: it needs none.
func (l *limits) needs(places []world.Place, as world.SaidLimit) (of *placed) {
	if len(places) == 0 {
		return nil
	}
	makeLimits(l)
	placed := &placed{}
	for i, said := range world.SaidBy(places) {
		p := &places[i]
		limit := l.named[p.Limit]
		if limit == nil {
			said.Steps, said.Messages = as.Steps, as.Messages
			limit = world.NewLimit(&said)
			l.named[p.Limit] = limit
		}
		id := p.ID()
		k := l.keys[id]
		if k == nil {
			k = &limitKey{limit: limit, text: p.Key}
			if p.Per > 0 {
				k.rated = &rated{id: id, due: entry{order: id}}
			}
			l.keys[id] = k
		}
		if p.Refuse { // it pays here and now: see refused
			l.pay(k, 1)
			_ = l.Again(id)
			continue
		}
		k.live++
		if p.Per > 0 {
			placed.Rates++
		}
		placed.places = append(placed.places, *p)
		placed.Keys = append(placed.Keys, id)
		if p.UntilEnd {
			placed.Keeps++
		}
		of = placed
	}
	return of
}

func makeLimits(l *limits) {
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
	if !due.IsZero() && !due.After(l.w.now()) && !l.w.said.starts.keep(r) && rules.RunsCode(r.cancels > 0, r.status == world.Running, r.blocked != nil, known) {
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
	scopes := make(map[string]world.Scope)
	for i := range all {
		kept, seen := scopes[all[i].Name]
		if limit := l.named[all[i].Name]; limit != nil {
			kept, seen = limit.Scope(), true
		}
		if !seen {
			kept = all[i].Scope()
		}
		scopes[all[i].Name] = kept
		if err := world.CheckScope(all[i].Name, all[i].Scope(), kept); err != nil {
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

// say notes what definitions say, and admits whom that lets in.
func (l *limits) say(all []world.SaidLimit, n *notices) {
	for _, said := range all {
		limit := l.named[said.Name]
		switch {
		case limit == nil:
			makeLimits(l)
			l.named[said.Name] = world.NewLimit(&said)
		case limit.Said != said.Number || limit.Per != said.Per || limit.Burst != said.Burst || !maps.Equal(limit.Weights, said.Weights):
			was := rules.LimitRate(limit)
			limit.Said, limit.Per, limit.Burst, limit.Weights = said.Number, said.Per, said.Burst, said.Weights
			l.retime(limit, was)
			l.admit(limit, n)
		}
		limit = l.named[said.Name]
		limit.Runs, limit.Steps, limit.Messages = limit.Runs || said.Runs(), limit.Steps || said.Steps, limit.Messages || said.Messages
	}
}

// seek has a run that is due take its places, where its code runs if somebody claims it who knows its class, or
// not. False: it stands in line.
func (l *limits) seek(r *run, known bool, n *notices) bool {
	if r.placed == nil || r.placed.Whole() || !rules.RunsCode(r.cancels > 0, r.status == world.Running, r.blocked != nil, known) {
		return true
	}
	l.news = n
	whole, _ := rules.Seek[*entry](l, &r.entry) // a map cannot fail
	return whole
}

// rest has a run that is not to be claimed give back what it does not keep; over: it has ended.
func (l *limits) rest(r *run, over bool, n *notices) {
	if r.placed == nil {
		return
	}
	l.news = n
	_ = rules.Rest[*entry](l, &r.entry, over)
	if !over {
		return
	}
	l.leave(r.placed.Keys)
	r.placed = nil
}

// Placed is for package rules, as are those that follow.
func (l *limits) Placed(e *entry) *rules.Placed {
	switch {
	case e.task != nil:
		return &e.task.placed.Placed
	case e.message != nil:
		return &e.message.placed.Placed
	}
	return &e.run.placed.Placed
}

// Begun reports whether a run has. A task has not: between attempts it holds nothing.
func (l *limits) Begun(e *entry) bool { return e.run != nil && e.run.status == world.Running }

// Room is how many places of a key are free.
func (l *limits) Room(key int64) (int, error) {
	k := l.keys[key]
	if k.rated != nil {
		return l.rateRoom(k), nil
	}
	return k.limit.Places(k.text) - k.used, nil
}

// Hold changes how many places of a key are held.
func (l *limits) Hold(key int64, by int) error {
	l.keys[key].used += by
	return nil
}

// Pay has one begin whom a rate has let in.
func (l *limits) Pay(key int64) error {
	l.pay(l.keys[key], 1)
	return nil
}

// Join puts a run, or a task, into the line of a key.
func (l *limits) Join(key int64, e *entry, last bool) error {
	var at time.Time
	priority := 0
	switch {
	case e.task != nil:
		at, priority = e.task.asked, e.task.Priority
	case e.message != nil:
		at, priority = e.message.SentAt, e.message.Rank()
	default:
		at, priority = e.run.created, e.run.birth.Priority
	}
	if last {
		at = l.w.now()
	}
	e.move(&l.keys[key].line[priority], at.UnixMicro())
	return nil
}

// Leave takes it out.
func (l *limits) Leave(_ int64, e *entry) error {
	e.move(nil, 0)
	return nil
}

// First is who is first in a line.
func (l *limits) First(key int64) (*entry, bool, error) {
	for p := range slices.Backward(l.keys[key].line[:]) {
		if e := l.keys[key].line[p].head(); e != nil {
			return e, true, nil
		}
	}
	return nil, false, nil
}

// Moved makes one that has all its places ready.
func (l *limits) Moved(e *entry) error {
	if !l.Placed(e).Whole() {
		return nil
	}
	if t := e.task; t != nil {
		t.Visible = l.w.now()
		l.w.placeTask(t, l.news)
		return nil
	}
	if m := e.message; m != nil {
		m.visible = l.w.now()
		heap.Push(&m.queue.line[m.Rank()], m)
		l.news.add(world.NoticeMessage, m.Queue)
		return nil
	}
	e.run.placed.admitted = l.w.now()
	l.w.place(e.run, l.news)
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
	was := rules.LimitRate(limit)
	if limit.Set = nil; number != nil {
		set := *number
		limit.Set = &set
	}
	l.retime(limit, was)
	l.admit(limit, n)
	return nil
}

// admit lets in who is first in each line of a limit whose number was changed.
func (l *limits) admit(limit *world.Limit, n *notices) {
	l.news = n
	for _, id := range slices.Sorted(maps.Keys(l.keys)) {
		if l.keys[id].limit == limit {
			_ = rules.Admit[*entry](l, id)
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
		one := world.LimitKey{Key: text, Used: k.used, Weight: k.limit.Weights[text]}
		for p := range k.line {
			waiting += len(k.line[p].items)
			if e := k.line[p].head(); e != nil && (one.Oldest.IsZero() || time.UnixMicro(e.due).Before(one.Oldest)) {
				one.Oldest = time.UnixMicro(e.due).UTC()
			}
		}
		one.Waiting = min(waiting, world.MostCounted)
		if at := l.turnOf(k, 0); at.After(l.w.now()) {
			one.Next = at
		}
		all = append(all, one)
	}
	return all, nil
}

// ListHolders tells what holds places of a key; see [world.Limiter].
func (l *limits) ListHolders(ctx context.Context, limit, key string, most int) (all []world.LimitHolder, err error) {
	if err := l.w.enter(ctx); err != nil {
		return nil, err
	}
	defer l.w.mu.Unlock()
	if l.named[limit] == nil {
		return nil, world.NoLimit(limit)
	}
	put := func(p *placed, h world.LimitHolder) {
		if p != nil && len(all) < most && slices.ContainsFunc(p.places[:p.Has], func(p world.Place) bool { return p.Limit == limit && p.Key == key }) {
			all = append(all, h)
		}
	}
	var tasks []*task
	for _, r := range slices.SortedFunc(maps.Values(l.w.runs), func(a, b *run) int { return cmp.Compare(a.key, b.key) }) {
		put(r.placed, world.LimitHolder{Run: r.id, Name: r.birth.Workflow})
		tasks = slices.AppendSeq(tasks, maps.Values(r.tasks))
	}
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.entry.order, b.entry.order) })
	for _, t := range tasks {
		put(t.placed, world.LimitHolder{Run: t.run.id, Step: t.Step, Name: t.Name})
	}
	var messages []*message
	for _, q := range l.w.messages.queues {
		messages = slices.AppendSeq(messages, maps.Values(q.all))
	}
	slices.SortFunc(messages, func(a, b *message) int { return cmp.Compare(a.number, b.number) })
	for _, m := range messages {
		put(m.placed, world.LimitHolder{Message: m.ID, Name: m.Queue})
	}
	return all, nil
}

// InLine tells where a run stands, or a task of it; see [world.Limiter].
func (l *limits) InLine(ctx context.Context, id, step string) (*world.InLine, error) {
	if err := l.w.enter(ctx); err != nil {
		return nil, err
	}
	defer l.w.mu.Unlock()
	r := l.w.runs[id]
	if r == nil {
		return nil, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	of, e, priority := r.placed, &r.entry, r.birth.Priority
	if step != "" {
		t := r.tasks[step]
		if t == nil {
			return nil, nil
		}
		of, e, priority = t.placed, &t.entry, t.Priority
	}
	if of == nil || !of.Parked {
		return nil, nil
	}
	in := &world.InLine{Place: of.places[of.Has]}
	line := &l.keys[of.Keys[of.Has]].line
	limit := l.named[in.Limit]
	in.Number, in.Per, in.Burst = limit.Places(in.Key), limit.Per, limit.Burst
	for p := range line {
		for _, o := range line[p].items {
			if p > priority || p == priority && (o.due < e.due || o.due == e.due && o.order < e.order) {
				in.Before++
			}
		}
	}
	in.At = l.turnOf(l.keys[of.Keys[of.Has]], in.Before)
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
