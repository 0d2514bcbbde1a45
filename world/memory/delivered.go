// What was delivered under an ID: see world.Delivery.Key.

package memory

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// accepted is a delivery that is known when it comes again.
type accepted struct {
	at     time.Time
	print  []byte
	sender *string // see world.Delivery.Keeper
	unread bool
	late   *world.Late
}

// again looks for the first copy of a delivery. Its result is the answer where it is found.
func (r *run) again(d *world.Delivery) (done world.Delivered, found bool, err error) {
	if d.ID == "" {
		return done, false, nil
	}
	a := r.delivered[d.Key()]
	if a == nil {
		return done, false, nil
	}
	if world.Differ(a.print, d.Fingerprint()) {
		return done, true, fmt.Errorf("run %s: delivery %q: %w", r.id, d.ID, world.ErrDeliveryUsed)
	}
	return world.Delivered{Run: r.id, Owner: r.ownerID(), Duplicate: true, Late: a.late != nil}, true, nil
}

// note makes a delivery known.
func (w *World) note(r *run, d *world.Delivery, unread bool) {
	if d.ID == "" {
		return
	}
	key := d.Key()
	if r.delivered == nil {
		r.delivered = make(map[[16]byte]*accepted)
	}
	r.delivered[key] = &accepted{at: w.now(), print: d.Fingerprint(), sender: d.Keeper(), unread: unread}
	r.order = append(r.order, key)
	if len(r.order) > world.DeliveriesKept && world.Marked(key) {
		w.crowds[r] = struct{}{}
	}
}

// forget drops what need not be known any more.
func (w *World) forget() {
	now := w.now()
	for r := range w.crowds {
		kept := r.order[:0]
		for i, key := range r.order {
			a := r.delivered[key]
			if len(r.order)-i > world.DeliveriesKept && !a.unread && now.Sub(a.at) > w.opt.KeepDeliveries && !w.repeats(a) {
				delete(r.delivered, key)
				continue
			}
			kept = append(kept, key)
		}
		r.order = kept
	}
	clear(w.crowds)
}

// repeats reports whether the sender of a delivery may still send it again.
func (w *World) repeats(a *accepted) bool {
	if a.sender == nil {
		return false
	}
	from := w.runs[*a.sender]
	return from == nil || from.end == nil // another world's, as far as is known here
}

// tooLate notes what waits in the inbox of a run that has ended.
func (r *run) tooLate() {
	for i := range r.inbox {
		m := &r.inbox[i]
		a := r.delivered[m.key]
		if !m.keyed || a == nil {
			continue
		}
		e := &m.events[0]
		a.late = &world.Late{Type: e.Type, Name: e.Name, Delivery: m.id, By: e.By, Reason: e.Reason, ArrivedAt: m.at}
		if len(r.late) < world.LateShown {
			r.late = append(r.late, *a.late)
		}
	}
}
