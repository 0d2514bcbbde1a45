package world

// This file lets a worker ask what it holds, where the answer to a take was lost.

import "context"

// Holder is a [Queue] that can tell a worker what it holds. A worker asks where the answer to a take was lost: if it knows of all that is listed, it was given
// nothing, and need not give up what it has.
type Holder interface {
	// Held lists what a worker owns. Every take of the worker that was asked for before is over by then, and none of them comes later; a world that cannot
	// promise that returns an error. [ErrLeaseLost]: it holds nothing any more.
	Held(ctx context.Context, worker string) (Held, error)
}

// Held is what a worker owns.
type Held struct {
	Runs  []string  // those that it was given, and those that it bore
	Tasks []TaskKey // without the number of the attempt
}
