// The inbox of a run: what was sent to it and is not in its log yet. A row is its wake-up.

package memory

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// mail is one delivery that waits.
type mail struct {
	row    int64
	id     string
	at     time.Time
	events []world.Event
	key    [16]byte // of the delivery, where it is keyed: it is known whether it comes again
	keyed  bool
}

// under gives the mail the key of its delivery.
func (m mail) under(d *world.Delivery) mail {
	m.key, m.keyed = d.Key(), d.ID != ""
	return m
}

func (m *mail) is(t world.EventType) bool { return len(m.events) == 1 && m.events[0].Type == t }

// payload reports whether the mail counts toward the limit of an inbox.
func (m *mail) payload() bool { return m.is(world.SignalReceived) || m.is(world.HookReceived) }

// put adds mail to an inbox and wakes whoever it concerns. It reports false where the delivery ID waits already.
func (w *World) put(r *run, m mail, n *notices) bool {
	if m.id != "" && !m.keyed {
		if _, ok := r.ids[m.id]; ok {
			return false
		}
		if r.ids == nil {
			r.ids = make(map[string]struct{})
		}
		r.ids[m.id] = struct{}{}
	}
	w.row++
	m.row, m.at = w.row, w.now()
	r.inbox = append(r.inbox, m)
	r.count(&m, 1)
	if r.owner != nil {
		n.add(world.NoticeMail, r.id)
	} else {
		w.place(r, n)
	}
	return true
}

// remove deletes rows of the inbox; those that are not there are nothing to it.
func (r *run) remove(rows []int64) {
	if len(rows) == 0 || len(r.inbox) == 0 {
		return
	}
	if !slices.IsSorted(rows) {
		rows = slices.Sorted(slices.Values(rows))
	}
	r.inbox = slices.DeleteFunc(r.inbox, func(m mail) bool {
		if _, ok := slices.BinarySearch(rows, m.row); !ok {
			return false
		}
		if m.keyed {
			if a := r.delivered[m.key]; a != nil {
				a.unread = false
			}
		} else if m.id != "" {
			delete(r.ids, m.id)
		}
		r.count(&m, -1)
		return true
	})
}

func (r *run) count(m *mail, by int) {
	switch {
	case m.payload():
		r.payloads += by
	case m.is(world.CancelRequested):
		r.cancels += by
	}
}

// waits reports whether mail of one of some types waits.
func (r *run) waits(types ...world.EventType) bool {
	return slices.ContainsFunc(r.inbox, func(m mail) bool { return slices.ContainsFunc(types, m.is) })
}

// asked is when the first cancel request that waits arrived.
func (r *run) asked() time.Time {
	for i := range r.inbox {
		if r.inbox[i].is(world.CancelRequested) {
			return r.inbox[i].at
		}
	}
	return time.Time{}
}

// letters shows the inbox to the run's owner.
func (r *run) letters() []world.Mail {
	if len(r.inbox) == 0 {
		return nil
	}
	out := make([]world.Mail, len(r.inbox))
	for i, m := range r.inbox {
		out[i] = world.Mail{Row: m.row, Run: r.id, ID: m.id, ArrivedAt: m.at, Events: slices.Clone(m.events)}
	}
	return out
}
