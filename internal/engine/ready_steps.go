package engine

import "slices"

// readySteps are the steps that wait for a slot, in the order in which they are to start. An empty list keeps its room.
type readySteps struct{ ids []string }

func (r *readySteps) some() bool         { return len(r.ids) > 0 }
func (r *readySteps) first() string      { return r.ids[0] }
func (r *readySteps) add(id string)      { r.ids = append(r.ids, id) }
func (r *readySteps) has(id string) bool { return slices.Contains(r.ids, id) }
func (r *readySteps) clear()             { r.ids = r.ids[:0] }
func (r *readySteps) drop()              { r.ids = nil }

// room is the room of the list, which is the caller's then.
func (r *readySteps) room() []string {
	ids := r.ids
	r.ids = nil
	return ids
}

// next takes the first one out.
func (r *readySteps) next() {
	if len(r.ids) == 1 {
		r.ids = r.ids[:0]
	} else {
		r.ids = r.ids[1:]
	}
}

// again puts steps before all others.
func (r *readySteps) again(ids []string) {
	if len(ids) > 0 {
		r.ids = append(ids, r.ids...)
	}
}
