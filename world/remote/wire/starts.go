package wire

// This file has what keeps runs from beginning.

import "github.com/stepwell/stepwell/world"

// HoldAct holds a workflow, or releases it. See [world.Starter].
type HoldAct struct {
	Workflow string `json:"workflow"`
	Hold     bool   `json:"hold,omitempty"` // else it is released
	By       string `json:"by,omitempty"`   // who holds it; a key's name takes its place
	Note     string `json:"note,omitempty"`
}

// Holds are the workflows that are held.
type Holds struct {
	Answer
	Holds []world.Hold `json:"holds,omitempty"`
}
