package world

// This file tells a worker what it holds by its world's account: answers get lost, and between a server and its workers they may be spoiled or come twice.

// Account is what a worker owns according to its store, at one moment: what it claimed and what it
// created. Claims in progress may or may not be included.
type Account struct {
	Runs  []OwnedRun
	Tasks []TaskKey // each with its current attempt
}

// OwnedRun is a run that a worker owns.
type OwnedRun struct {
	Run   string `json:"run"`
	Claim int64  `json:"take"` // the claim under which it owns the run
	Last  int64  `json:"last"` // number of the last event
}
