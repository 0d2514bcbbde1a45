// Commit: one atomic change to one run. Everything that can refuse it comes before the first write.

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Commit writes one atomic change; see [world.Log] and [world.Commit].
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := world.CheckCommit(c); err != nil {
		return world.Committed{}, err
	}
	if err := w.enter(ctx); err != nil {
		return world.Committed{}, err
	}
	var n notices
	done, err := w.commitLocked(c, &n)
	w.mu.Unlock()
	w.tell(&n)
	return done, err
}

func (w *World) commitLocked(c *world.Commit, n *notices) (world.Committed, error) {
	var r *run
	var err error
	if c.Birth() {
		if c.Items > 0 && w.runs[c.Run] == nil && w.said.gathers.keyOf(c) == nil {
			if r := w.said.gathers.find(c); r != nil {
				return world.Committed{Existing: r.id, Gathering: true}, nil
			}
		}
		existing, err := w.mayBeCreated(c)
		if c.Ack != "" && err == nil && !w.messages.holds(c.Ack) {
			err = world.NoReceipt(c)
		}
		if err == nil && !w.schedules.stands(c.Schedule) {
			err = world.ScheduleMoved(c.Schedule)
		}
		if err != nil {
			return world.Committed{}, err
		}
		if existing != nil {
			w.messages.ack(c.Ack, n)
			w.schedules.put(c.Schedule)
			return existingRun(existing), nil
		}
	} else if r, err = w.fence(c); err != nil {
		return world.Committed{}, err
	} else if err := w.limits.may(world.TaskPlaces(c)); err != nil {
		return world.Committed{}, fmt.Errorf("run %s: %w", c.Run, err)
	}
	for _, k := range c.Held {
		if r == nil || r.tasks[k.Step] == nil || !r.tasks[k.Step].heldBy(c.Worker, k.Attempt) {
			return world.Committed{}, fmt.Errorf("run %s: task %s, attempt %d: %w", c.Run, k.Step, k.Attempt, world.ErrLeaseLost)
		}
	}
	for i := range c.Messages {
		if _, err := w.messages.find(c.Messages[i].Queue); err != nil {
			return world.Committed{}, err
		}
	}
	p, err := w.decide(c)
	if err != nil {
		return world.Committed{}, err
	}
	if err := w.encodePlan(c, r, &p); err != nil {
		return world.Committed{}, err
	}
	if err := w.apart.lacks(c, &p); err != nil {
		return world.Committed{}, err
	}
	return w.write(c, r, p, n), nil
}

func existingRun(r *run) world.Committed {
	if r == nil {
		return world.Committed{}
	}
	return world.Committed{Existing: r.id}
}

// keyOf is the run that has the idempotency key of a birth; nil: none.
func (g *gathers) keyOf(c *world.Commit) (r *run) {
	if b := c.Events[0].Birth; b.Key != "" {
		r = g.byKey(b.Workflow, b.Key)
	}
	return r
}

// metBefore is the run that has the idempotency key of a start that was merged into a run that comes with its log;
// nil: none.
func (g *gathers) metBefore(c *world.Commit) *run {
	for _, d := range world.MergedStarts(c) {
		if r := g.byKey(c.Events[0].Birth.Workflow, d.ID); r != nil {
			return r
		}
	}
	return nil
}

// mayBeCreated checks a birth: the ID, the idempotency key, the worker, in this order. A run that has the key is returned; the ID may be that run's.
func (w *World) mayBeCreated(c *world.Commit) (existing *run, err error) {
	b := c.Events[0].Birth
	existing = w.said.gathers.keyOf(c)
	if w.runs[c.Run] != nil {
		if _, err := world.CreatedBefore(c, existingRun(existing).Existing); err != nil {
			return nil, err
		}
		return existing, nil
	}
	if existing == nil {
		existing = w.said.gathers.metBefore(c)
	}
	if existing != nil {
		return existing, nil
	}
	if existing, err = w.limits.singles.meet(c); existing != nil || err != nil {
		return existing, err
	}
	if c.Worker != "" && w.workers[c.Worker] == nil {
		return nil, fmt.Errorf("run %s: worker %s: %w", c.Run, c.Worker, world.ErrLeaseLost)
	}
	if err := w.limits.mayNeed(c); err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	if c.Worker != "" && w.said.starts.held(b.Workflow) {
		return nil, world.HeldBirth(c)
	}
	return nil, nil
}

// fence checks that the worker owns the run and that the commit is the next one.
func (w *World) fence(c *world.Commit) (*run, error) {
	r := w.runs[c.Run]
	switch {
	case r == nil || r.owner == nil || r.owner.ID != c.Worker || r.claim != c.Claim || c.First <= r.seq:
		return nil, fmt.Errorf("run %s: commit at event %d by worker %s: %w", c.Run, c.First, c.Worker, world.ErrLeaseLost)
	case c.First != r.seq+1:
		return nil, fmt.Errorf("%w: run %s: commit at event %d, the next is %d", world.ErrInvalid, c.Run, c.First, r.seq+1)
	}
	return r, nil
}

// write makes the change. It cannot fail.
func (w *World) write(c *world.Commit, r *run, p plan, n *notices) world.Committed {
	w.counters.Commits++
	w.counters.Groups++
	isBirth := r == nil
	w.limits.news = n
	if isBirth {
		w.messages.ack(c.Ack, n)
		w.schedules.put(c.Schedule)
		r = w.create(c)
		w.said.gathers.opened(c, r, n)
	}
	w.apart.come(c, &p)
	for i, child := range p.Births {
		created := w.create(child)
		for _, enc := range p.rows[i] {
			w.append(created, enc)
		}
		w.queueChild(child, n)
	}
	for _, enc := range p.parts {
		w.append(r, enc)
	}
	if len(p.Events) > 0 {
		if p.parts == nil {
			w.append(r, p.row)
		}
		n.add(world.NoticeLog, r.id)
	}
	for _, a := range p.Awaits {
		target, waits := w.runs[a.Run], awaiter{run: r, step: a.Step, segment: r.segment}
		if !slices.Contains(target.awaiters, waits) { // a commit with no events may come twice
			target.awaiters = append(target.awaiters, waits)
		}
	}
	w.commitChunks(c, r, n)
	r.remove(c.Mail)
	r.unread = c.Unread
	w.writeTasks(c, r, n)
	for i := range c.Send {
		w.send(&c.Send[i], n)
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		w.messages.put(w.messages.queues[m.Queue], m, w.now())
		w.messages.handNews(n)
		n.add(world.NoticeMessage, m.Queue)
	}
	for i := range c.Published {
		w.topics.publish(&c.Published[i], w.now())
		n.add(world.NoticeTopic, "")
	}
	if w.topics.listens.news {
		w.topics.listens.news = false
		n.add(world.NoticeTopic, "")
	}
	done := world.Committed{}
	if p.Changed {
		done.Events = c.Written(p.Events)
	}
	switch {
	case r.end != nil:
		w.over(r, n)
	case c.Release != nil:
		w.release(c, r, n)
		done.Mail = len(r.inbox) > 0
	case isBirth && r.owner == nil:
		w.place(r, n)
	}
	if isBirth {
		w.limits.singles.add(c, r, n)
		w.said.starts.created(r, c.Events, n)
	}
	return done
}

// create makes the row of a new run. Its events are still to be appended.
func (w *World) create(c *world.Commit) *run {
	e := &c.Events[0]
	b := *e.Birth
	w.runKey++
	r := &run{
		id: c.Run, key: w.runKey, birth: &b, status: world.Pending, version: b.Version, input: e.Payload, apart: e.Apart, encrypted: e.Encrypted,
		attrs: cloneAttributes(b.Attributes), created: e.Time, wakeAt: b.NotBefore,
	}
	r.entry.run, r.entry.order = r, r.key
	if now := w.now(); r.wakeAt.Before(now) {
		r.wakeAt = now
	}
	if wk := w.workers[c.Worker]; wk != nil {
		r.owner, r.claim = wk, 1
		wk.runs[r] = struct{}{}
	}
	w.runs[r.id] = r
	r.placed = w.limits.needs(r.birth.Places, world.SaidLimit{})
	w.created = append(w.created, birth{r.key, r})
	if b.Key != "" {
		w.keys[idempotencyKey{b.Workflow, b.Key}] = r
	}
	for _, d := range world.BirthDeliveries(c) {
		w.note(r, d, false)
	}
	for _, d := range world.MergedStarts(c) {
		w.note(r, d, false)
		w.said.gathers.merged(r, d.ID)
	}
	return r
}

// queueChild puts a child that was just created into the queue.
func (w *World) queueChild(c *world.Commit, n *notices) {
	r := w.runs[c.Run]
	w.writeTasks(c, r, n)
	n.add(world.NoticeLog, r.id)
	if r.end != nil {
		w.over(r, n)
		return
	}
	w.place(r, n)
	w.limits.singles.add(c, r, n)
	w.said.starts.created(r, c.Events, n)
}

// release gives the run back to the queue.
func (w *World) release(c *world.Commit, r *run, n *notices) {
	rel := c.Release
	delete(r.owner.runs, r)
	r.owner, r.released, r.strikes = nil, c.ID, 0
	r.wakeAt, r.full, r.waiting, r.blocked = rel.WakeAt, rel.Full, rel.Waiting, nil
	if rel.Blocked != nil {
		b := *rel.Blocked
		r.blocked = &b
	}
	w.limits.rest(r, false, n)
	w.place(r, n)
}

// Outcome reports whether a commit was written; see [world.Log].
func (w *World) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := w.enter(ctx); err != nil {
		return world.Committed{}, err
	}
	defer w.mu.Unlock()
	r := w.runs[c.Run]
	lost := fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, world.ErrLeaseLost)
	missing := fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, world.ErrNotFound)
	if r == nil {
		return world.Committed{}, missing
	}
	done := world.Committed{Mail: c.Release != nil && len(r.inbox) > 0}
	if !c.HasRow(r.seq) {
		switch {
		case r.end == nil && r.owner == nil && r.claim == c.Claim && r.released == c.ID:
			return done, nil
		case r.owner != nil && r.owner.ID == c.Worker && r.claim == c.Claim:
			return world.Committed{}, missing
		}
		return world.Committed{}, lost
	}
	if c.First > r.seq {
		return world.Committed{}, missing
	}
	rec := &r.log[r.at(c.First)]
	events, id, err := r.read(rec)
	if err != nil {
		return world.Committed{}, err
	}
	if id != c.ID {
		return world.Committed{}, lost
	}
	done.Events = c.Told(events)
	return done, nil
}
