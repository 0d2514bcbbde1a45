// Package observe tells a program what its runs do while they move, for metrics and spans: see
// stepwell.Config.Observer, and package telemetry, which makes metrics and spans of it.
package observe

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Observer is told what happens to runs, steps, waits and signals. Each function may be nil. They are called from many
// goroutines at once, must not block, as a run stands still meanwhile, and must not call the App. One that panics is
// logged and changes nothing.
//
// What is in a run's log is told by the worker that wrote it, as soon as it is durable: once, never again on a replay,
// and not at all where that process ends in between. What others appended to the log (an import, a fork's prefix, an
// application that drives its runs from outside) is not told.
type Observer struct {
	// Starting is asked before a run is created, with the context of the call that starts it: what it returns is added to
	// what the start gave as [world.Birth].Context, which stands where both have a key. It must not change the map that
	// it is given.
	Starting func(ctx context.Context, start Start) map[string]string
	// StartingChild is asked the same before workflow code creates a child.
	StartingChild func(parent Run, start Start) map[string]string

	RunStarted   func(Run) // it began: its first turn is in the log
	RunContinued func(Run) // in a new segment
	RunEnded     func(Run) // whatever its end; also of one that is cancelled before it began
	RunBlocked   func(Run) // each time that it was tried and is still blocked; see Blocked

	// Attempt is called where the body of a step is about to run, on its goroutine. The body gets the context that it
	// returns, which must come from the one that it is given; nil is that one. What it returns beside is called when
	// the body has returned, before its result is in the log: with nil, or with the error of the attempt. An attempt
	// that its process does not survive is not told.
	Attempt func(ctx context.Context, step Step) (context.Context, func(err error))

	StepStarted func(Step) // an attempt is recorded as started
	StepRetried func(Step) // an attempt ended with Error, and another follows; code ABANDONED: nobody is to blame
	StepEnded   func(Step) // completed, or failed with Error

	WaitStarted func(Wait)
	WaitEnded   func(Wait)

	Signal func(Signal)   // came to its run
	Swept  func(runs int) // were deleted, as their retention was over
}

// Start is a start that is about to be made.
type Start struct {
	Workflow string
	Context  map[string]string // what the caller gave
}

// Run is a run as an [Observer] is told of it. Nothing that it points to may be changed.
type Run struct {
	ID       string
	Workflow string
	Version  int               // 0: not known here
	Context  map[string]string // that it was created with
	Parent   *world.Parent     // nil: none, or not known here
	Status   world.Status

	CreatedAt time.Time
	StartedAt time.Time // zero: it never began
	EndedAt   time.Time
	Error     *world.Error // of its end
	Blocked   *world.Block // of RunBlocked alone
}

// Step is a step, or one attempt of it.
type Step struct {
	Run       Run // of an attempt that came to this worker through the queue: ID, Workflow, Version and the trace in Context alone
	ID        string
	Name      string
	Kind      world.Kind
	Attempt   int       // the attempt that this is about, from 1
	StartedAt time.Time // the first attempt; of one attempt, that; zero for a child run and the wait for a run
	EndedAt   time.Time
	Error     *world.Error
}

// Wait is a sleep, or a wait for an event or a condition.
type Wait struct {
	Run       Run
	ID        string
	Name      string
	Kind      world.Kind
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   world.Outcome // how it ended
}

// Signal is a signal that came to its run.
type Signal struct {
	Run    Run
	Event  string    // its name
	SentAt time.Time // when it was accepted
	At     time.Time // when it came to the run
	Seq    int64     // its number in the log
}
