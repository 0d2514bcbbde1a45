package world

// This file notes what a store finds damaged in what it keeps: it is told with the run, the task or the hook, so that
// nothing else is stopped by it.

import (
	"encoding/json"
	"fmt"
)

// Unreadable records in Damage that a part of the row does not decode; a nil err records nothing.
func (r *Run) Unreadable(what string, err error) {
	if err != nil && r.Damage == "" {
		r.Damage = what + ": " + err.Error()
	}
}

// CheckEnd records in Damage that the log ends before an event that it had.
func (r *Run) CheckEnd(last, had int64) {
	if last > 0 && last < had { // one without an event says so itself, see CheckFirst
		r.Unreadable("its log", fmt.Errorf("it ends with event %d, and had %d", last, had))
	}
}

// CheckClass records in Damage that the queue has the run under a missing class, or one of another
// workflow, and replaces it by a class that a worker may claim.
func (r *Run) CheckClass(c *Class, workflow string, key int64) {
	*c = Class{Workflow: workflow}
	r.Unreadable("its row in the queue", fmt.Errorf("class %d is not one of its workflow", key))
}

// CheckMetadata removes a hook's metadata if it is not valid JSON.
func (h *HookRow) CheckMetadata() {
	if len(h.Metadata) > 0 && !json.Valid(h.Metadata) {
		h.Metadata = nil
	}
}

// Unreadable records in Damage that a task's row does not decode; a nil err records nothing.
func (t *Task) Unreadable(err error) {
	if err != nil && t.Damage == "" {
		t.Damage = err.Error()
	}
}
