package world

// How worlds that keep counts by name make [WorkflowStats] of them.

import (
	"fmt"
	"maps"
	"slices"
)

// Counts of runs besides those by status.
const (
	CountedPaused  = "paused"
	CountedBlocked = "blocked"
)

// Tally has the counts of each workflow, by name. It is not safe for concurrent use.
type Tally map[string]*WorkflowStats

// Set records how many runs of a workflow have a status, or are [CountedPaused] or
// [CountedBlocked]. 0 is not recorded. An unknown word or an impossible number is [ErrCorrupt].
func (t Tally) Set(workflow, as string, n int) error {
	if n == 0 {
		return nil
	}
	if n < 0 {
		return fmt.Errorf("%w: workflow %s: %d runs are counted as %q", ErrCorrupt, workflow, n, as)
	}
	s := t[workflow]
	if s == nil {
		s = &WorkflowStats{Workflow: workflow}
	}
	switch as {
	case string(Pending):
		s.Pending = n
	case string(Running):
		s.Running = n
	case string(Completed):
		s.Completed = n
	case string(Failed):
		s.Failed = n
	case string(Cancelled):
		s.Cancelled = n
	case CountedPaused:
		s.Paused = n
	case CountedBlocked:
		s.Blocked = n
	default:
		return fmt.Errorf("%w: workflow %s: runs are counted as %q", ErrCorrupt, workflow, as)
	}
	t[workflow] = s
	return nil
}

// List returns all counts, by name of workflow.
func (t Tally) List() []WorkflowStats {
	var out []WorkflowStats
	for _, name := range slices.Sorted(maps.Keys(t)) {
		out = append(out, *t[name])
	}
	return out
}
