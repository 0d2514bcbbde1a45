package postgres

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// run is what a World knows of a run. For one that a worker of this World owns it is right until the worker loses its lease, or somebody ends
// the run by force, which the log's index (run, seq) and the queue row tell.
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

	// What may hang on it: false only where it was born here and has had none.
	tasks, hooks, awaits bool
}
