// Package engine says what an engine under test is: the few things that a workflow engine of any make can be asked to do, so that the same
// workloads run on all of them.
package engine

import (
	"context"
	"time"
)

// Engine is one workflow engine on one store, opened by its [Maker]. Many goroutines may call its methods at once.
//
// A step is trivial throughout: it returns its number and touches nothing, so that what is measured is the engine.
type Engine interface {
	// Serial runs one workflow of n trivial serial steps and waits for its result. gaps, if not nil, has room for n times and gets the one
	// at which each step's body began.
	Serial(ctx context.Context, n int, gaps []time.Time) error
	// Close stops the engine, and the server that it may have started, and waits until both are gone.
	Close(ctx context.Context) error
}

// Fanner runs one workflow with n parallel trivial steps and waits for its result.
type Fanner interface {
	Fanout(ctx context.Context, n int) error
}

// Starter starts a run of one trivial step. The run is durable when Start returns; Start does not wait for it.
type Starter interface {
	Start(ctx context.Context) error
}

// Sleeper starts n runs that sleep for a day, and returns when all of them sleep.
type Sleeper interface {
	Sleepers(ctx context.Context, n int) error
}

// Signaller starts a run that waits for a signal and, once it waits, sends it the signal: sent is when the call that sends it returned,
// began when the body of the run's next step began. A began before sent is right: the engine was quicker than its own answer.
type Signaller interface {
	Signal(ctx context.Context) (sent, began time.Time, err error)
}

// Parent runs one workflow that starts n child runs of no steps (of one trivial step, where an engine cannot do without) and waits for all.
type Parent interface {
	Children(ctx context.Context, n int) error
}

// Lister asks what a user interface would: a page of runs, filtered; and the history of one of them, the newest that it knows of.
type Lister interface {
	List(ctx context.Context) error
	Events(ctx context.Context) error
}
