package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Doctor is a [World] that examines its storage, for people.
type Doctor interface {
	// Examine looks for causes of slow or stuck runs, and changes nothing. It may take seconds on a
	// large database. A check that is impossible, for example without permission, is a finding too.
	// If it can, it calls begin before each check, and tell after it.
	Examine(ctx context.Context, begin func(check string), tell func(Finding)) error
}

// Findings returns all findings of a doctor.
func Findings(ctx context.Context, d Doctor) (all []Finding, err error) {
	err = d.Examine(ctx, func(string) {}, func(f Finding) { all = append(all, f) })
	return all, err
}

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`            // name of the check in a few words, always the same
	Health Health `json:"health"`           //
	Found  string `json:"found"`            // with figures
	Advice string `json:"advice,omitempty"` // what to do; "": all is well
}

// BlockedRuns says how many runs are blocked, by workflow, the most first; "": none.
func BlockedRuns(workflows []WorkflowStats) string {
	list := slices.DeleteFunc(slices.Clone(workflows), func(s WorkflowStats) bool { return s.Blocked == 0 })
	slices.SortStableFunc(list, func(a, b WorkflowStats) int { return cmp.Compare(b.Blocked, a.Blocked) })
	const most = 5
	var texts []string
	rest := 0
	for i, s := range list {
		if i < most {
			texts = append(texts, fmt.Sprintf("%d of workflow %s", s.Blocked, s.Workflow))
		} else {
			rest += s.Blocked
		}
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("%d of %d others", rest, len(list)-most))
	}
	return strings.Join(texts, ", ")
}

// Mender is a [World] that repairs damage that needs no decision. [Admin].Sweep also repairs what
// it finds quickly.
type Mender interface {
	// Mend releases runs and tasks whose owner is not a registered worker, and corrects wrong
	// counts of runs. It returns what it did. It may take seconds on a large database.
	Mend(ctx context.Context) ([]Finding, error)
	// Awaits returns the recorded steps of a run that wait for the ends of other runs.
	Awaits(ctx context.Context, run string) ([]Await, error)
	// MendRun corrects whether a run is running and paused, and records its steps that wait for
	// other runs; if those are over, the steps are told at once. It returns false, and changes
	// nothing, if the run is over or its log has grown.
	MendRun(ctx context.Context, run string, is Derived) (bool, error)
}

// Mended returns the findings of a [Mender]: the number of owners whose work it released, and of
// wrong counts.
func Mended(owners, counts int) []Finding {
	return []Finding{
		{Check: "mended: owners", Health: HealthGood, Found: fmt.Sprintf("freed what %d owners held that no longer exist", owners)},
		{Check: "mended: counts", Health: HealthGood, Found: fmt.Sprintf("counts corrected: %d", counts)},
	}
}

// Advice in findings of stores.
const (
	MendAdvice    = "a worker frees these and repairs impossible states within 5 minutes; to do it now:  stepwell doctor --mend"
	LostEndAdvice = "restore a backup, or continue in a fork of the run: see docs/operating.md"
)

// WrongCount describes a wrong count of runs of a workflow: n is the stored count, is the true one.
func WrongCount(workflow, as string, n, is int64) string {
	return fmt.Sprintf("%d of workflow %s are %s, counted as %d", is, workflow, as, n)
}

// Health is how bad a finding is.
type Health string

// Values of [Health].
const (
	HealthGood    Health = "good"
	HealthWarning Health = "warning" // look at it in working hours
	HealthBad     Health = "bad"     // runs stand still, or soon will
)
