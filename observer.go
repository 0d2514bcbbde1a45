package stepwell

// What the Observer is told of runs that no worker ends.

import (
	"context"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// Observer returns [Config].Observer, combined with what counts metrics for all processes. Servers
// pass it on. Nil: there is none.
func (a *App) Observer() *observe.Observer {
	return observe.Join(a.cfg.Observer, a.engine.Metrics().Observer())
}

// forcedReads are the events that tell what was ended by force.
var forcedReads = []world.EventType{world.RunCreated, world.RunStarted, world.RunCancelled}

// observeForced tells the Observer of a run that this App has ended by force, as no worker will. What another's act ended is told by that one.
func (a *App) observeForced(ctx context.Context, d *world.Delivery) {
	row, err := a.world.Run(ctx, d.Run)
	if err != nil {
		a.cfg.Logger.Info("the Observer could not be told that a run ended", "run_id", d.Run, "err", err)
		return
	}
	run := observe.Run{
		ID: row.ID, Workflow: row.Workflow, Version: row.Version, Parent: row.Parent, Status: row.Status, CreatedAt: row.CreatedAt,
		EndedAt: row.EndedAt, Error: row.Error,
	}
	mine := false
	for e, err := range a.Events(ctx, d.Run, EventFilter{Types: forcedReads}) {
		switch {
		case err != nil:
			a.cfg.Logger.Info("the Observer could not be told that a run ended", "run_id", d.Run, "err", err)
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
		a.engine.Metrics().Ended(run.Workflow, run.Status, run.EndedAt.Sub(run.CreatedAt))
		if o := a.cfg.Observer; o != nil && o.RunEnded != nil {
			engine.Guarded(a.cfg.Logger, func() { o.RunEnded(run) })
		}
	}
}
