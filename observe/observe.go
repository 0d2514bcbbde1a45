// Package observe tells a program what its runs do, for metrics and spans: see
// stepwell.Config.Observer, and package telemetry.
package observe

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Observer has functions that are called for events of runs, steps, waits and signals. Each may be
// nil. They are called from many goroutines at once. They must not block, because the run waits for
// them, and must not call the App. A panic is logged and changes nothing.
//
// The worker that writes an event to a run's log calls the function once the event is durable: at
// most once, and never on replay. If the process ends in between, the call is lost. Events that
// others append (an import, the prefix of a fork, a program that drives its runs from outside)
// cause no calls.
type Observer struct {
	// Starting is called before a run is created, with the context of the call that starts it. Its
	// result is added to [world.Birth].Context; keys that the start has itself win. It must not
	// change the map in start.
	Starting func(ctx context.Context, start Start) map[string]string
	// StartingChild is Starting for a child run that workflow code creates.
	StartingChild func(parent Run, start Start) map[string]string

	RunStarted   func(Run) // its first events are in the log
	RunContinued func(Run) // it began a new segment
	RunEnded     func(Run) // whatever its end, also if it was cancelled before it began
	RunBlocked   func(Run) // each time that a try leaves it blocked: see Run.Blocked

	// Attempt is called before a step's body runs, on its goroutine. The body gets the returned
	// context, which must derive from ctx; nil means ctx. The returned function is called after the
	// body has returned and before its result is in the log, with the attempt's error or nil. It is
	// not called if the process dies.
	Attempt func(ctx context.Context, step Step) (context.Context, func(err error))

	StepStarted func(Step) // an attempt is recorded as started
	// StepRetried: an attempt ended with Error, and another follows; code ABANDONED: its worker
	// went away.
	StepRetried func(Step)
	StepEnded   func(Step) // completed, or failed with Error

	WaitStarted func(Wait)
	WaitEnded   func(Wait)

	Signal func(Signal)   // it arrived at its run
	Swept  func(runs int) // this many ended runs were deleted after their retention
}

// Start is a start that is about to be made.
type Start struct {
	Workflow string
	Context  map[string]string // what the caller gave
}

// Run is a run as an [Observer] gets it. Do not change what it points to.
type Run struct {
	ID       string
	Workflow string
	Version  int               // 0: unknown here
	Context  map[string]string // the context that it was created with
	Parent   *world.Parent     // nil: none, or unknown here
	Status   world.Status

	CreatedAt time.Time
	StartedAt time.Time // zero: it never began
	EndedAt   time.Time
	Error     *world.Error // why it failed
	Blocked   *world.Block // set in RunBlocked only
}

// Step is a step, or one attempt of it.
type Step struct {
	// Run has only ID, Workflow, Version and the trace in Context if the attempt came to this
	// worker through the queue.
	Run     Run
	ID      string
	Name    string
	Kind    world.Kind
	Attempt int // number of the attempt, from 1
	// StartedAt is the start of the first attempt; in a call for one attempt, of that attempt. Zero
	// for child runs and waits for runs.
	StartedAt time.Time
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

// Signal is an event or a payload that arrived at its run.
type Signal struct {
	Run    Run
	Event  string    // name of the event
	SentAt time.Time // when it was accepted
	At     time.Time // when it reached the run
	Seq    int64     // its number in the log
}
