// Singletons: at most one run of a workflow and key is live. What becomes of a birth is in package rules.

package memory

import (
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// singles are the live runs that have the keys of singletons, and under the lock of their World. A run whose place was
// taken has its key no more, and its place until it is over.
type singles struct {
	w    *World
	runs map[string]*run
}

// live is the run that has a key; "": none.
func (s *singles) live(key string) (string, error) {
	if r := s.runs[key]; r != nil {
		return r.id, nil
	}
	return "", nil
}

// meet tells which run is there in the place of a birth.
func (s *singles) meet(c *world.Commit) (existing *run, err error) {
	one := rules.SingleOf(c)
	if one == nil {
		return nil, nil
	}
	live, _ := s.live(one.Text())
	id, err := one.Meet(live)
	return s.w.runs[id], err
}

// add gives a new run its key. Who had it is cancelled.
func (s *singles) add(c *world.Commit, r *run, n *notices) {
	one := rules.SingleOf(c)
	if one == nil {
		return
	}
	r.placed.single = one.Text()
	old := s.runs[r.placed.single]
	if s.runs == nil {
		s.runs = make(map[string]*run)
	}
	s.runs[r.placed.single] = r
	if old == nil {
		return
	}
	if r.placed.behind = old.id; old.placed.Parked && old.placed.behind != "" { // it waits, too
		r.placed.behind = old.placed.behind
	}
	d := one.Cancel(old.id)
	s.w.counters.Deliveries++
	s.w.put(old, mail{id: d.ID, events: d.Events}, n)
}

// drop has a run that is over give its key back.
func (s *singles) drop(r *run) {
	if r.placed != nil && s.runs[r.placed.single] == r {
		delete(s.runs, r.placed.single)
	}
}
