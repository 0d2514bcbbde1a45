package world

// This file tells a worker what it holds by its world's account: answers get lost, and between a server and its workers they may be spoiled or come twice.

import "context"

// Holder is a [Queue] that tells a worker what it holds. A worker asks if the answer to a claim was
// lost. If it knows all that is listed, the claim gave it nothing, and it can keep its work.
type Holder interface {
	// Held lists what a worker owns. All earlier claims of the worker must be over, and none may
	// take effect later; a store that cannot promise that returns an error. With several servers,
	// earlier claims are those with lower numbers than the last one (see [ClaimQuery].Number):
	// first claim nothing under the next number, then call Held. [ErrLeaseLost]: the worker holds
	// nothing.
	Held(ctx context.Context, worker string) (Account, error)
}

// Account is what a worker owns according to its store, at one moment: what it claimed and what it
// created. Claims in progress may or may not be included.
type Account struct {
	Runs  []OwnedRun `json:"runs,omitzero"`
	Tasks []TaskKey  `json:"tasks,omitzero"` // each with its current attempt
}

// OwnedRun is a run that a worker owns.
type OwnedRun struct {
	Run   string `json:"run"`
	Claim int64  `json:"take"` // the claim under which it owns the run
	Last  int64  `json:"last"` // number of the last event
}
