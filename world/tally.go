package world

// How worlds that keep counts by name make [WorkflowStats] of them.

import (
	"fmt"
	"maps"
	"slices"
)

// What runs are counted as beside their status.
const (
	CountedPaused  = "paused"
	CountedBlocked = "blocked"
)

// Tally is the counts of each workflow, by name. It is not safe for concurrent use.
type Tally map[string]*WorkflowStats

// Set notes how many runs of a workflow are counted as something: a status, [CountedPaused] or [CountedBlocked]. Of none nothing is noted. What is
// counted as anything else, or a number of runs that there cannot be, is [ErrCorrupt].
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

// List is all that was noted, by name of workflow.
func (t Tally) List() []WorkflowStats {
	var out []WorkflowStats
	for _, name := range slices.Sorted(maps.Keys(t)) {
		out = append(out, *t[name])
	}
	return out
}
