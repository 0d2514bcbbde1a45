// Runs that gather the inputs of further starts.

package memory

import (
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// gathers are the runs that gather, under the lock of their World.
//
//   - A bucket is open while its run has not begun, nobody owns it, it is not due, and no cancel waits for it. One
//     that is not stands for nothing, until another takes its place.
type gathers struct {
	w    *World
	open map[gatherKey]*bucket
	of   map[*run]*bucket
	keys map[idempotencyKey]*run // of starts that were merged
	had  map[*run][]idempotencyKey
}

type gatherKey struct{ workflow, key string }

type bucket struct {
	world.Gathering
	run *run
	key gatherKey
}

// find is the run to which the input of a birth is to be delivered; nil: there is none. The birth's run and key are
// new.
func (g *gathers) find(c *world.Commit) *run {
	b := g.open[gatherKeyOf(c)]
	if b == nil || !g.fits(b, c.Items, c.Events[0].InputBytes()) {
		return nil
	}
	return b.run
}

func gatherKeyOf(c *world.Commit) gatherKey {
	b := c.Events[0].Birth
	return gatherKey{b.Workflow, b.Gather.Key}
}

func (g *gathers) fits(b *bucket, items, bytes int) bool {
	r := b.run
	return r.end == nil && r.owner == nil && r.claim == 0 && r.status == world.Pending && r.cancels == 0 && r.wakeAt.After(g.w.now()) && b.Fits(items, bytes)
}

// opened opens a bucket with the birth of a run, and closes the one that was there.
func (g *gathers) opened(c *world.Commit, r *run, n *notices) {
	if c.Items == 0 {
		return
	}
	key := gatherKeyOf(c)
	if was := g.open[key]; was != nil {
		g.close(was)
		if r := was.run; r.end == nil && r.owner == nil && r.status == world.Pending && r.wakeAt.After(g.w.now()) {
			r.wakeAt = g.w.now()
			g.w.place(r, n)
			n.add(world.NoticeWork, r.id)
		}
	}
	b := &bucket{c.Events[0].Birth.Gather.Opens(g.w.now(), c.Items, c.Events[0].InputBytes()), r, key}
	r.wakeAt = b.Begins(g.w.now())
	if b.Open() {
		if g.open == nil {
			g.open, g.of = make(map[gatherKey]*bucket), make(map[*run]*bucket)
		}
		g.open[key], g.of[r] = b, b
	}
}

func (g *gathers) close(b *bucket) {
	if g.open[b.key] == b {
		delete(g.open, b.key)
	}
	delete(g.of, b.run)
}

// input gives a run an input. That it did not come before is known.
func (g *gathers) input(r *run, d *world.Delivery, n *notices) (world.Delivered, error) {
	e := d.Events[0]
	if e.Name != "" {
		if has := g.byKey(r.birth.Workflow, e.Name); has != nil {
			return world.Delivered{Run: has.id, Owner: has.ownerID(), Duplicate: true}, nil
		}
	}
	b := g.of[r]
	switch {
	case r.end != nil:
		return world.Delivered{}, over(r)
	case b == nil || !g.fits(b, d.Items, e.InputBytes()):
		return world.Delivered{}, world.Closed(r.id)
	}
	if err := world.CheckEncrypted(r.id, r.encrypted, d.Events); err != nil {
		return world.Delivered{}, err
	}
	e.Delivery, e.Time = d.ID, rules.Later(g.w.now(), r.time)
	enc, err := g.w.encode(&world.Commit{Run: r.id, First: r.seq + 1}, r.created, []world.Event{e})
	if err != nil {
		return world.Delivered{}, err
	}
	g.w.append(r, enc)
	n.add(world.NoticeLog, r.id)
	b.Add(d.Items, e.InputBytes())
	r.wakeAt = b.Begins(g.w.now())
	if !b.Open() {
		g.close(b)
		n.add(world.NoticeWork, r.id)
	}
	g.w.place(r, n)
	if e.Name != "" {
		g.merged(r, e.Name)
	}
	g.w.counters.Commits++
	g.w.counters.Groups++
	g.w.counters.Deliveries++
	g.w.note(r, d, false)
	return world.Delivered{Run: r.id}, nil
}

// byKey is the run that has an idempotency key, or was given the input of the start with it; nil: none.
func (g *gathers) byKey(workflow, idem string) *run {
	key := idempotencyKey{workflow, idem}
	if r := g.w.keys[key]; r != nil {
		return r
	}
	return g.keys[key]
}

// merged notes the idempotency key of a start whose input a run was given.
func (g *gathers) merged(r *run, idem string) {
	if g.keys == nil {
		g.keys, g.had = make(map[idempotencyKey]*run), make(map[*run][]idempotencyKey)
	}
	key := idempotencyKey{r.birth.Workflow, idem}
	g.keys[key], g.had[r] = r, append(g.had[r], key)
}

// swept forgets a run.
func (g *gathers) swept(r *run) {
	if b := g.of[r]; b != nil {
		g.close(b)
	}
	for _, key := range g.had[r] {
		delete(g.keys, key)
	}
	delete(g.had, r)
}
