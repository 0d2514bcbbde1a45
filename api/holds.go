package api

import "time"

// Held is a workflow whose runs do not begin.
type Held struct {
	Workflow string    `json:"workflow"`
	By       string    `json:"by,omitempty"`
	Note     string    `json:"note,omitempty"`
	Since    time.Time `json:"since"`
}

// Holds are the held workflows, by name.
type Holds []Held

// HoldWorkflow holds a workflow.
type HoldWorkflow struct {
	Workflow string `path:"workflow" json:"-"`
	// Note is the reason, for people.
	Note string `json:"note,omitempty" audit:"reason"`
}

// ReleaseWorkflow names a held workflow.
type ReleaseWorkflow struct {
	Workflow string `path:"workflow" json:"-"`
}

// ListHolds has no settings.
type ListHolds struct{}

// Operations that hold workflows.
var (
	HoldWorkflowOp = op[HoldWorkflow, Holds](Row{
		ID: "holdWorkflow", Method: "POST", Path: "/v1/workflows/{workflow}/hold", Scope: Operator, Audit: true, Twice: true,
		Summary: "Hold a workflow: its starts are accepted, but its runs do not begin until you release it", Answers: heldNow,
	})
	ReleaseWorkflowOp = op[ReleaseWorkflow, Holds](Row{
		ID: "releaseWorkflow", Method: "POST", Path: "/v1/workflows/{workflow}/release", Scope: Operator, Audit: true, Twice: true,
		Summary: "Let the runs of a held workflow begin", Answers: heldNow,
	})
	ListHoldsOp = op[ListHolds, Holds](Row{
		ID: "listHolds", Method: "GET", Path: "/v1/holds", Scope: Viewer,
		Summary: "List the held workflows", Answers: heldNow,
	})
)

const heldNow = "All workflows that are held now, by name."
