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
	// Examine looks for what makes runs slow or stand still, and changes nothing. It may take seconds on a large database. A check that
	// cannot be made, for want of rights say, is a finding too. It calls begin before a check, where it can, and tell after it.
	Examine(ctx context.Context, begin func(check string), tell func(Finding)) error
}

// Findings are what a doctor finds, all at once.
func Findings(ctx context.Context, d Doctor) (all []Finding, err error) {
	err = d.Examine(ctx, func(string) {}, func(f Finding) { all = append(all, f) })
	return all, err
}

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`            // what was looked at, in a few words; the same each time
	Health Health `json:"health"`           //
	Found  string `json:"found"`            // with figures
	Advice string `json:"advice,omitempty"` // what to do; "" where all is well
}

// BlockedRuns says how many runs are blocked, and of which workflows, the most first; "": none is.
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

// Mender is a [World] that makes right by itself what damage leaves and needs nobody's decision. [Admin].Sweep does so too, with what it sees at a glance.
type Mender interface {
	// Mend frees runs and tasks whose owner is not among the workers, and counts runs anew where the counts are not what is there. It tells what it did. It may
	// take seconds on a large database.
	Mend(ctx context.Context) ([]Finding, error)
	// Awaits lists which steps of a run wait for the end of others, as they would be told.
	Awaits(ctx context.Context, run string) ([]Await, error)
	// MendRun puts right whether a run is running and paused, and has steps be told of the ends of other runs: at once, where they are over. It reports whether it
	// did, which is not so where the run is over, or its log has gone on.
	MendRun(ctx context.Context, run string, is Derived) (bool, error)
}

// Mended is what a [Mender] tells: it freed what so many owners had, and so many counts were wrong.
func Mended(owners, counts int) []Finding {
	return []Finding{
		{Check: "mended: owners", Health: HealthGood, Found: fmt.Sprintf("freed what %d owners held that no longer exist", owners)},
		{Check: "mended: counts", Health: HealthGood, Found: fmt.Sprintf("counts corrected: %d", counts)},
	}
}

// MendAdvice and LostEndAdvice are advice of worlds' doctors.
const (
	MendAdvice    = "a worker frees these and repairs impossible states within 5 minutes; to do it now:  stepwell doctor --mend"
	LostEndAdvice = "restore a backup, or continue in a fork of the run: see docs/operating.md"
)

// WrongCount says that runs of a workflow are counted as something so often, and how many there are.
func WrongCount(workflow, as string, n, is int64) string {
	return fmt.Sprintf("%d of workflow %s are %s, counted as %d", is, workflow, as, n)
}

// Health says how bad a finding is.
type Health string

// How bad a [Finding] can be.
const (
	HealthGood    Health = "good"
	HealthWarning Health = "warning" // look at it by day
	HealthBad     Health = "bad"     // runs stand still, or soon will
)
