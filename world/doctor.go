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
	// cannot be made, for want of rights say, is a finding too.
	Examine(ctx context.Context) ([]Finding, error)
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

// Health says how bad a finding is.
type Health string

// How bad a [Finding] can be.
const (
	HealthGood    Health = "good"
	HealthWarning Health = "warning" // look at it by day
	HealthBad     Health = "bad"     // runs stand still, or soon will
)
