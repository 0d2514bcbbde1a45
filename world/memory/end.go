// The end of a run: what is deleted, and who is told.

package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// over does what a terminal event says: the run leaves the queue with all that hangs on it there, its outcome goes to its
// row, and those who wait for it are told.
func (w *World) over(r *run, n *notices) {
	if b := *r.birth; b.Key != "" && r.end.FreesKey(r.status != world.Pending) {
		delete(w.keys, idempotencyKey{b.Workflow, b.Key})
		b.Key = ""
		r.birth = &b
	}
	r.status = rules.EndStatus(r.end.Type)
	r.err = r.end.Error
	w.limits.singles.drop(r)
	w.limits.rest(r, true, n)
	w.topics.listens.end(r)
	if r.owner != nil {
		delete(r.owner.runs, r)
		r.owner = nil
	}
	for _, step := range slices.Sorted(maps.Keys(r.tasks)) {
		w.dropTask(r, step, n)
	}
	for id := range r.hooks {
		w.dispose(r, id)
	}
	r.tasks, r.hooks = nil, nil
	r.tooLate()
	r.inbox, r.ids, r.payloads, r.cancels = nil, nil, 0, 0
	r.paused, r.blocked, r.full, r.waiting = false, nil, false, ""
	if r.birth.Retention > 0 {
		r.entry.move(&w.ended, world.After(r.end.Time, r.birth.Retention).UnixMicro())
	} else {
		r.entry.move(nil, 0)
	}
	n.add(world.NoticeEnded, r.id)
	w.tellResult(r, n)
}

// tellResult sends the result to the parent's step and to every awaiting step whose run is not over.
func (w *World) tellResult(r *run, n *notices) {
	if p := r.birth.Parent; p != nil {
		w.sendResult(r, w.runs[p.Run], p.Step, n)
	}
	for _, a := range r.awaiters {
		if a.segment == a.run.segment { // else a segment waited that is over
			w.sendResult(r, a.run, a.step, n)
		}
	}
	r.awaiters = nil
}

func (w *World) sendResult(from, to *run, step string, n *notices) {
	if to == nil || to.end != nil || step == "" {
		return
	}
	w.counters.Deliveries++
	result := world.ResultFor(from.end, step)
	w.apart.named(to.id, from.id, []world.Event{result})
	w.put(to, mail{id: "result/" + step, events: []world.Event{result}}, n)
}

// force ends a run from outside, whoever owns it, and asks its attached children to end as well: nobody else is left who
// could.
func (w *World) force(r *run, e world.Event, enc row, n *notices) error {
	children, err := w.openChildren(r)
	if err != nil {
		return err
	}
	if r.owner != nil {
		r.owner.lost = append(r.owner.lost, r.id)
		n.add(world.NoticeMail, r.id)
	}
	w.append(r, enc)
	n.add(world.NoticeLog, r.id)
	w.over(r, n)
	for _, child := range children {
		w.put(child, mail{id: "cancel/" + r.id, events: []world.Event{rules.CancelOfChild(&e)}}, n)
	}
	return nil
}

// openChildren reads in the log which attached children of a run are not over.
func (w *World) openChildren(r *run) (open []*run, err error) {
	for i := range r.log {
		events, _, err := r.read(&r.log[i])
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if child := w.runs[e.Peer]; e.Type == world.StepCreated && e.Kind == world.KindChild && attached(child, r) {
				open = append(open, child)
			}
		}
	}
	return open, nil
}

func attached(child, parent *run) bool {
	if child == nil || child.end != nil {
		return false
	}
	p := child.birth.Parent
	return p != nil && p.Run == parent.id && !p.Detached
}

// sweepLocked deletes one run with all its traces.
func (w *World) sweepLocked(r *run) {
	r.entry.move(nil, 0)
	delete(w.runs, r.id)
	w.apart.drop(r.id)
	delete(w.trims, r)
	delete(w.crowds, r)
	for _, h := range r.closed {
		left := slices.DeleteFunc(w.ends[h.token], func(o *hook) bool { return o == h })
		if w.ends[h.token] = left; len(left) == 0 {
			delete(w.ends, h.token)
		}
	}
	if b := r.birth; b.Key != "" {
		delete(w.keys, idempotencyKey{b.Workflow, b.Key})
	}
	w.said.gathers.swept(r)
	w.created[w.createdIndex(r.key)].run = nil
	w.swept++
	if w.swept < 64 || w.swept < len(w.created)/2 {
		return
	}
	kept := make([]birth, 0, len(w.created)-w.swept)
	for _, b := range w.created {
		if b.run != nil {
			kept = append(kept, b)
		}
	}
	w.created, w.swept = kept, 0
}

// endedAt is when the run ended; zero while it lives.
func (r *run) endedAt() time.Time {
	if r.end == nil {
		return time.Time{}
	}
	return r.end.Time
}

func cloneAttributes(m map[string]json.RawMessage) map[string]json.RawMessage { return maps.Clone(m) }
