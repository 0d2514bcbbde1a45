package world

// This file notes what a store finds damaged in what it keeps: it is told with the run, the task or the hook, so that
// nothing else is stopped by it.

import (
	"encoding/json"
	"fmt"
)

// Unreadable notes a part of a run's row that does not decode; nil: nothing.
func (r *Run) Unreadable(what string, err error) {
	if err != nil && r.Damage == "" {
		r.Damage = what + ": " + err.Error()
	}
}

// CheckEnd notes that the log of a run ends before an event that it had.
func (r *Run) CheckEnd(last, had int64) {
	if last > 0 && last < had { // one without an event says so itself, see CheckFirst
		r.Unreadable("its log", fmt.Errorf("it ends with event %d, and had %d", last, had))
	}
}

// CheckClass notes that the queue has a run under a class that there is not, or that is another workflow's, and puts one in its place that somebody may take.
func (r *Run) CheckClass(c *Class, workflow string, key int64) {
	*c = Class{Workflow: workflow}
	r.Unreadable("its row in the queue", fmt.Errorf("class %d is not one of its workflow", key))
}

// CheckMetadata leaves out metadata of a hook that nobody could be shown.
func (h *HookRow) CheckMetadata() {
	if len(h.Metadata) > 0 && !json.Valid(h.Metadata) {
		h.Metadata = nil
	}
}

// Unreadable notes that a task cannot be run, as its row does not decode; nil: it can.
func (t *Task) Unreadable(err error) {
	if err != nil && t.Damage == "" {
		t.Damage = err.Error()
	}
}
