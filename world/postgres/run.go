package postgres

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// run is what a World knows of a run. For one that a worker of this World owns it is right until the worker loses its lease, or somebody ends
// the run by force, which the log's index (run, seq) and the queue row tell. What the crew has of it is never changed, but replaced.
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
	claim    int64
	paused   bool
	blocked  bool
	full     bool
	wake     time.Time
	limited  bool // it needs places
	unsure   bool // taken, and nothing was written since: a crash of the server may undo the claim, see set_claiming.sql

	// What may hang on it: false only where it was created here and has had none.
	tasks, hooks, awaits bool

	attrs      map[string]json.RawMessage // never changed, but replaced
	attrsKnown bool
}

// standing is what a run is counted as.
type standing struct{ live, running, paused, blocked bool }

func (r *run) standing() standing {
	return standing{live: r.live, running: r.running, paused: r.paused, blocked: r.blocked}
}
