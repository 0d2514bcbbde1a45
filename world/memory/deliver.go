// Deliver: what those who do not own a run send to it.

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Deliver sends to a run's inbox, acts on a run, or ends an attempt of a task; see
// [world.Delivery].
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if err := world.CheckDelivery(d); err != nil {
		return world.Delivered{}, err
	}
	if err := w.enter(ctx); err != nil {
		return world.Delivered{}, err
	}
	var n notices
	done, err := w.deliverLocked(d, &n)
	w.mu.Unlock()
	w.tell(&n)
	return done, err
}

func (w *World) deliverLocked(d *world.Delivery, n *notices) (world.Delivered, error) {
	if d.Task != nil {
		return w.taskEnd(d, n)
	}
	r, events, open, err := w.addressee(d)
	if err != nil {
		return world.Delivered{}, err
	}
	if done, found, err := r.again(d); found {
		return done, err
	}
	switch {
	case d.Repeat:
		return world.Delivered{}, world.NoRepeat(r.id, d)
	case d.Act && d.Events[0].Type == world.InputReceived:
		return w.said.gathers.input(r, d, n)
	case d.Act:
		return w.act(r, d, n)
	case r.end != nil:
		return world.Delivered{}, over(r)
	case !open:
		return world.Delivered{}, noHook(d.Token)
	}
	if err := world.CheckEncrypted(r.id, r.encrypted, events); err != nil {
		return world.Delivered{}, err
	}
	done := world.Delivered{Run: r.id, Owner: r.ownerID()}
	m := mail{id: d.ID, events: events}
	if m.payload() && (r.full || r.payloads+r.unread >= w.opt.InboxLimit) {
		return world.Delivered{}, fmt.Errorf("run %s: too many payloads are unread: %w", r.id, world.ErrInboxFull)
	}
	w.counters.Deliveries++
	w.put(r, m.under(d), n)
	w.note(r, d, true)
	return done, nil
}

func noHook(token string) error {
	return fmt.Errorf("hook token %q: %w", world.ShownToken(token), world.ErrNotFound)
}

// addressee finds the run by ID or by token, and returns the events as it will get them. It is not open where the
// hook with the token is over.
func (w *World) addressee(d *world.Delivery) (r *run, events []world.Event, open bool, err error) {
	events = slices.Clone(d.Events)
	if d.Token != "" {
		h := w.tokens[d.Token]
		if open = h != nil; !open {
			h = w.lastEnded(d.Token)
		}
		if h == nil {
			return nil, nil, false, noHook(d.Token)
		}
		events[0].ID = h.id
		return h.run, events, open, nil
	}
	if r = w.runs[d.Run]; r == nil {
		return nil, nil, false, fmt.Errorf("run %s: %w", d.Run, world.ErrNotFound)
	}
	return r, events, true, nil
}

// send is the delivery of a commit: what cannot arrive is dropped, and no limit holds it up.
func (w *World) send(d *world.Delivery, n *notices) {
	r, events, open, err := w.addressee(d)
	if err != nil || r.end != nil || !open {
		return
	}
	if w.put(r, mail{id: d.ID, events: events}, n) {
		w.counters.Deliveries++
	}
}

// act appends to the log of a run that nobody owns, or goes to its inbox. A forced cancel is appended in any case.
func (w *World) act(r *run, d *world.Delivery, n *notices) (world.Delivered, error) {
	e := d.Events[0]
	done := world.Delivered{Run: r.id, Owner: r.ownerID()}
	facts := rules.Acted{
		Live: r.end == nil, Owned: r.owner != nil, Paused: r.paused, Blocked: r.blocked != nil,
		Begun:   !r.unbegun(),
		Delayed: r.status == world.Pending && r.wakeAt.After(w.now()), Waits: r.waits(world.RunPaused, world.RunResumed),
	}
	if r.end != nil {
		facts.End = r.end.Type
	}
	deed, err := rules.Act(d, facts)
	switch {
	case err != nil:
		return world.Delivered{}, err
	case r.end != nil:
		return done, nil
	}
	if deed.Retry {
		if r.wakeAt = w.now(); r.blocked != nil {
			again := *r.blocked
			again.Tries, r.blocked = 0, &again
		}
		w.place(r, n)
		n.add(world.NoticeWork, r.id)
	}
	if deed.Append {
		e.Delivery, e.Time = d.ID, rules.Later(w.now(), r.time)
		if err := w.writeAct(r, e, n); err != nil {
			return done, err
		}
		w.counters.Commits++
		w.counters.Groups++
	}
	if deed.Append || deed.Post {
		w.counters.Deliveries++
	}
	if deed.Post {
		w.put(r, mail{id: d.ID, events: []world.Event{e}}.under(d), n)
	}
	w.note(r, d, deed.Post)
	return done, nil
}

// writeAct appends an act that is legal.
func (w *World) writeAct(r *run, e world.Event, n *notices) error {
	one := []world.Event{e}
	enc, err := w.encode(&world.Commit{Run: r.id, First: r.seq + 1}, r.created, one)
	if err != nil {
		return err
	}
	if e.Type == world.RunCancelled {
		return w.force(r, e, enc, n)
	}
	w.append(r, enc)
	n.add(world.NoticeLog, r.id)
	if e.Type == world.RunResumed {
		r.wakeAt = rules.WakeAfter(r.status == world.Running, r.wakeAt, w.now())
	}
	w.place(r, n)
	return nil
}

func over(r *run) error { return fmt.Errorf("run %s is %s: %w", r.id, r.status, world.ErrTerminal) }

func (r *run) ownerID() string {
	if r.owner == nil {
		return ""
	}
	return r.owner.ID
}
