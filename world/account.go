package world

// This file tells a worker what it holds by its world's account: answers get lost, and between a server and its workers they may be spoiled or come twice.

import "context"

// Holder is a [Queue] that can tell a worker what it holds. A worker asks where the answer to a claim was lost: if it knows of all that is listed, it was given
// nothing, and need not give up what it has.
type Holder interface {
	// Held lists what a worker owns. Every claim of the worker that was asked for before is over by then, and none of
	// them comes later; a world that cannot promise that returns an error. Behind several servers these are the claims
	// with lower numbers than the last one that was made, see [ClaimQuery].Number: to ask is to take nothing, under the
	// next number, and then to call Held. [ErrLeaseLost]: it holds nothing any more.
	Held(ctx context.Context, worker string) (Account, error)
}

// Account is what a worker owns by its world's account, at one moment: what it was given, and what it created. Nothing is promised of claims that are under way.
type Account struct {
	Runs  []OwnedRun
	Tasks []TaskKey // each with the attempt as which it is held
}

// OwnedRun is a run that a worker owns.
type OwnedRun struct {
	Run   string `json:"run"`
	Claim int64  `json:"take"` // under which it owns the run
	Last  int64  `json:"last"` // number of the last event
}
