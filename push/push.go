// Package push has the messages and answers of a program that works on demand: see
// stepwell.App.Invoke. Package server has the HTTP protocol for them.
package push

import "time"

// Message names work: a run to continue, or one of its queued steps. A message is only a hint: its
// work is claimed only if it is ready.
type Message struct {
	Run      string `json:"runId"`
	Step     string `json:"stepId,omitempty"`   // correlation ID of the step; "": the run itself
	StepName string `json:"stepName,omitempty"` // for people
}

// Outcome is the result of a [Message].
type Outcome string

// Results of a message.
const (
	Done    Outcome = "done"    // no work is left for now: the run is over or waits
	Yielded Outcome = "yielded" // the slice is used up, and there is more work
	Busy    Outcome = "busy"    // nothing was done: the work is not ready, or another worker has it
)

// DefaultSlice is how long a message is worked on by default. It is less than the two minutes that
// most platforms allow.
const DefaultSlice = 110 * time.Second

// Manifest lists what a program can work on.
type Manifest struct {
	Build     string        `json:"build,omitempty"` // of the program
	Workflows []Workflow    `json:"workflows"`
	Steps     []Step        `json:"steps"` // registered steps
	Slice     time.Duration `json:"-"`     // how long it works on one message
}

// Workflow is one version of a workflow.
type Workflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Source  string `json:"source,omitempty"` // file:line of its function
}

// Step is a registered step.
type Step struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"` // file:line of its function
}
