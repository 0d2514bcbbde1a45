package remote

// This file finds the runs that a worker has lost: those that it had and that the server's account does not have any
// more. Of several servers each could tell only of those that it knew.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// owned are the runs of a worker, as far as this World knows.
type owned struct {
	runs       map[string]bool
	moved      map[string]bool // those that it was given, or gave up, since the heartbeat that is under way began
	heartbeats int             // under way
	crossed    bool            // there were several at once: nobody knows whose account is the newest
}

// knows returns what is known of a worker, nil where nothing is.
func (w *World) knows(id string) *worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.workers[id]
}

// move notes that the worker was given a run, or gives it up. It reports whether it had it.
func (wk *worker) move(run string, has bool) (had bool) {
	wk.mu.Lock()
	defer wk.mu.Unlock()
	o := &wk.owned
	had = o.runs[run]
	if delete(o.runs, run); has {
		o.add(run)
	}
	if o.heartbeats > 0 {
		o.moved[run] = true
	}
	return had
}

// begin notes that a heartbeat begins. wk.mu is locked, as below.
func (o *owned) begin() {
	o.heartbeats++
	if o.crossed = o.heartbeats > 1; !o.crossed {
		o.moved = map[string]bool{}
	}
}

func (o *owned) add(run string) {
	if o.runs == nil {
		o.runs = map[string]bool{}
	}
	o.runs[run] = true
}

// end notes what a heartbeat told, nil where it told nothing, and returns the runs that are lost.
func (o *owned) end(account *world.Account) (lost []string) {
	o.heartbeats--
	if account == nil || o.crossed {
		return nil
	}
	listed := make(map[string]bool, len(account.Runs))
	for _, r := range account.Runs {
		listed[r.Run] = true
	}
	for run := range o.runs {
		if !listed[run] && !o.moved[run] {
			lost = append(lost, run)
			delete(o.runs, run)
		}
	}
	for run := range listed {
		if !o.moved[run] {
			o.add(run)
		}
	}
	slices.Sort(lost)
	return lost
}

// givesUp reports whether the worker does not own the run of a commit any more, once it is written.
func givesUp(c *world.Commit) bool {
	return c.Release != nil || len(c.Events) > 0 && c.Events[len(c.Events)-1].Type.Terminal()
}
