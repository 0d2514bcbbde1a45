// Waits that listen to what is published.

package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// listens are the waits that listen, under the World's lock.
type listens struct {
	by    map[world.Hashed][]*listen
	all   map[string]*listen // by place
	runs  map[int64][]*listen
	shape map[string]int // how many of each
	news  bool           // one looks back that was not told
}

type listen struct {
	world.Listener
	run  int64
	back bool // it looks back, and has not yet
}

// follow does what events of a run say.
// last is the number of the last publication.
func (k *listens) follow(r *run, events []world.Event, last int64) {
	l := rules.Listens(events)
	if l == nil {
		return
	}
	if l.All {
		k.end(r)
	}
	if k.all == nil {
		k.by, k.all, k.runs, k.shape = make(map[world.Hashed][]*listen), make(map[string]*listen), make(map[int64][]*listen), make(map[string]int)
	}
	for _, e := range l.Created {
		x := &listen{Listener: world.Listener{Place: world.ListenerPlace(r.key, e.ID), Run: r.id, Wait: e.ID, Shape: e.Listen.Shape, Hash: e.Listen.Hash, From: e.Time.Add(-e.Listen.Since), Last: last}, run: r.key}
		if e.Listen.Since > 0 {
			x.back, x.Match, k.news = true, e.Match, true
		}
		id := world.Hashed{Shape: x.Shape, Hash: x.Hash}
		k.all[x.Place], k.by[id], k.runs[r.key] = x, append(k.by[id], x), append(k.runs[r.key], x)
		k.shape[x.Shape]++
	}
	for _, wait := range l.Over {
		k.drop(k.all[world.ListenerPlace(r.key, wait)])
	}
}

// end forgets the waits of a run.
func (k *listens) end(r *run) {
	for _, x := range slices.Clone(k.runs[r.key]) {
		k.drop(x)
	}
}

func (k *listens) drop(x *listen) {
	if x == nil {
		return
	}
	is := func(y *listen) bool { return y == x }
	id := world.Hashed{Shape: x.Shape, Hash: x.Hash}
	delete(k.all, x.Place)
	if k.by[id] = slices.DeleteFunc(k.by[id], is); len(k.by[id]) == 0 {
		delete(k.by, id)
	}
	if k.runs[x.run] = slices.DeleteFunc(k.runs[x.run], is); len(k.runs[x.run]) == 0 {
		delete(k.runs, x.run)
	}
	if k.shape[x.Shape]--; k.shape[x.Shape] == 0 {
		delete(k.shape, x.Shape)
	}
}

// Shapes are those of all waits that listen; see [world.Publisher].
func (k *topics) Shapes(ctx context.Context) (all []world.Shape, err error) {
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.messages.leave()
	for text := range k.listens.shape {
		s, err := world.ReadShape(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b world.Shape) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// Listeners are pages of waits that listen; see [world.Publisher].
func (k *topics) Listeners(ctx context.Context, q world.ListenerQuery) (all []world.Listener, err error) {
	run, wait, err := q.Check()
	if err != nil {
		return nil, err
	}
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.messages.leave()
	var found []*listen
	if q.Back {
		for _, x := range k.listens.all {
			if x.back {
				found = append(found, x)
			}
		}
	}
	for _, id := range q.Any {
		found = append(found, k.listens.by[id]...)
	}
	order := func(a, b *listen) int { return cmp.Or(cmp.Compare(a.run, b.run), strings.Compare(a.Wait, b.Wait)) }
	found = slices.DeleteFunc(found, func(x *listen) bool {
		return q.After != "" && order(x, &listen{run: run, Listener: world.Listener{Wait: wait}}) <= 0
	})
	slices.SortFunc(found, order)
	for _, x := range found[:min(q.Limit, len(found))] {
		out := x.Listener
		if !q.Back {
			out.Match = nil
		}
		all = append(all, out)
	}
	return all, nil
}

// looked notes that waits have looked back.
func (k *listens) looked(places []string) {
	for _, place := range places {
		if x := k.all[place]; x != nil {
			x.back = false
		}
	}
}
