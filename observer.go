package stepwell

// What a program can be told of its runs while they move.

import (
	"context"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

type (
	// Observer is told what happens to runs, steps, waits and signals; see [Config].Observer, and package telemetry, which makes metrics and
	// spans of it. Each function may be nil. They are called from many goroutines at once, must not block, as a run stands still meanwhile, and must
	// not call the App. One that panics is logged and changes nothing.
	//
	// What is in a run's log is told by the worker that wrote it, as soon as it is durable: once, never again on a replay, and not at all where that
	// process ends in between. What others appended to the log (an import, a fork's prefix, an application that drives its runs from outside) is not told.
	Observer = engine.Observer
	// ObservedStart is a start that is about to be made.
	ObservedStart = engine.ObservedStart
	// ObservedRun is a run as an [Observer] is told of it. Nothing that it points to may be changed.
	ObservedRun = engine.ObservedRun
	// ObservedStep is a step, or one attempt of it.
	ObservedStep = engine.ObservedStep
	// ObservedWait is a sleep, or a wait for an event or a condition.
	ObservedWait = engine.ObservedWait
	// ObservedSignal is a signal that came to its run.
	ObservedSignal = engine.ObservedSignal
)

// Observers tells several, one after the other. Those that are nil are left out; with none it is nil. Of what they add to a start's context the first
// one's stands; the context of a step's body goes through all.
func Observers(all ...*Observer) *Observer { return engine.Observers(all...) }

// Observer is what [Config].Observer said, or nil: for what works beside the App, as a server does.
func (a *App) Observer() *Observer { return a.cfg.Observer }

// forcedReads are the events that tell what was ended by force.
var forcedReads = []world.EventType{world.RunCreated, world.RunStarted, world.RunCancelled}

// observeForced tells the Observer of a run that this App has ended by force, as no worker will. What another's act ended is told by that one.
func (a *App) observeForced(ctx context.Context, d *world.Delivery) {
	o := a.cfg.Observer
	if o == nil || o.RunEnded == nil {
		return
	}
	row, err := a.world.Run(ctx, d.Run)
	if err != nil {
		a.cfg.Logger.Info("the end of a run could not be told to the Observer", "run_id", d.Run, "err", err)
		return
	}
	run := ObservedRun{
		ID: row.ID, Workflow: row.Workflow, Version: row.Version, Parent: row.Parent, Status: row.Status, CreatedAt: row.CreatedAt,
		EndedAt: row.EndedAt, Error: row.Error,
	}
	mine := false
	for e, err := range a.Events(ctx, d.Run, EventFilter{Types: forcedReads}) {
		switch {
		case err != nil:
			a.cfg.Logger.Info("the end of a run could not be told to the Observer", "run_id", d.Run, "err", err)
			return
		case e.Birth != nil:
			run.Context = e.Birth.Context
		case e.Type == world.RunStarted:
			run.StartedAt = e.Time
		case e.Type == world.RunCancelled:
			mine = e.Delivery == d.ID
		}
	}
	if mine {
		engine.Guarded(a.cfg.Logger, func() { o.RunEnded(run) })
	}
}
