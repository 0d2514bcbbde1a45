// Package push has what a program that works on demand is told, and answers: see stepwell.App.Invoke. Package server
// has the HTTP on top of it.
package push

import "time"

// Message names work: a run that is to go on, or one of its queued steps. Nothing rests on a message: what it names is
// taken if it is ready.
type Message struct {
	Run      string `json:"runId"`
	Step     string `json:"stepId,omitempty"`   // correlation ID; "": the run
	StepName string `json:"stepName,omitempty"` // for people
}

// Outcome says what became of a [Message].
type Outcome string

// What can become of a message.
const (
	Done    Outcome = "done"    // there is nothing more to do just now: the run is over, or waits
	Yielded Outcome = "yielded" // there is more to do at once: the slice was used up
	Busy    Outcome = "busy"    // nothing was done: it is not ready, or another worker has it
)

// DefaultSlice is how long a message is worked on, where nobody says otherwise: less than the two minutes that
// platforms give at least.
const DefaultSlice = 110 * time.Second

// Manifest says what a program can work on.
type Manifest struct {
	Build     string        `json:"build,omitempty"` // of the program
	Workflows []Workflow    `json:"workflows"`
	Steps     []Step        `json:"steps"` // registered ones
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
