package postgres

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// run is what a World knows of a run. For one that a worker of this World owns it is right until the worker loses its lease, or somebody ends
// the run by force, which the log's index (run, seq) and the queue row tell. What is in World.runs is never changed, but replaced.
type run struct {
	id        string
	key       int64
	created   time.Time
	retention time.Duration
	workflow  string
	last      int64 // number of the last event

	live     bool // it is not over; what follows is of its queue row
	class    world.Class
	running  bool
	priority int
	owner    int64 // workers.key; 0: nobody
	take     int64
	paused   bool
	blocked  bool
	full     bool
	wake     time.Time
	unsure   bool // taken, and nothing was written since: a crash of the server may undo the take, see set_taking.sql

	// What may hang on it: false only where it was born here and has had none.
	tasks, hooks, awaits bool

	attrs      map[string]json.RawMessage // never changed, but replaced
	attrsKnown bool
}

// owned returns what is known of a run that a worker of this World owns, else nil. It must not be changed.
func (w *World) owned(id string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[id]
}

// own notes that a worker of this World owns a run, or what became of such a run. w.mu is locked.
func (w *World) own(r *run) { w.runs[r.id] = r }

// disown notes that no worker of this World owns a run any more, unless a later take gave it back. w.mu is locked.
func (w *World) disown(r *run) {
	if known := w.runs[r.id]; known != nil && known.take <= r.take {
		delete(w.runs, r.id)
	}
}

// standing is what a run is counted as.
type standing struct{ live, running, paused, blocked bool }

func (r *run) standing() standing {
	return standing{live: r.live, running: r.running, paused: r.paused, blocked: r.blocked}
}
