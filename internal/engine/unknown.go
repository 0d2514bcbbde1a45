package engine

// Runs whose workflow, or version of it, no live worker has: where Config.FailUnknown says so, they fail with NO_WORKER after a while.
//
//  1. Who decides is any worker that lives, and it may be wrong about others: one that is being deployed is not there yet. So it goes by what it has seen itself: at
//     each of its looks for so long, no live worker had the class. One look that finds one begins anew, and so does a worker that starts.
//  2. It ends nothing itself. It sends the run a cancel that says why, under one delivery ID, whoever sends it. Whoever takes the run then ends it: a worker
//     that has come meanwhile and has the code lets it clean up and undo what it did; any other ends it without its code.
//  3. Only runs that are ready count: one that sleeps, is paused or is blocked misses nobody.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// absent are the classes that runs are ready for and no live worker has, and since when that is so, as one worker has seen it.
type absent map[world.Class]time.Time

// unknownLoop looks for runs that nobody can work on.
func unknownLoop(e *Engine, ctx context.Context) {
	gone := absent{}
	for pause(ctx, min(max(e.cfg.FailUnknown/10, time.Second), time.Minute)) {
		if err := failUnknown(e, ctx, gone); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Info("runs of workflows that nobody has could not be looked for", "err", err)
		}
	}
}

// failUnknown looks once.
func failUnknown(e *Engine, ctx context.Context, gone absent) error {
	stats, err := e.cfg.World.Stats(ctx)
	if err != nil {
		return err
	}
	live := slices.DeleteFunc(stats.Workers, func(w world.WorkerRow) bool { return !w.Until.After(stats.Now) })
	seen := absent{}
	for _, wf := range stats.Workflows {
		if wf.Pending+wf.Running == 0 {
			continue
		}
		if err := failUnknownOf(e, ctx, wf.Workflow, live, gone, seen); err != nil {
			return err
		}
	}
	clear(gone)
	for class, since := range seen {
		gone[class] = since
	}
	return nil
}

// failUnknownOf looks at the runs of one workflow that are ready.
func failUnknownOf(e *Engine, ctx context.Context, workflow string, live []world.WorkerRow, gone, seen absent) error {
	q := world.RunQuery{Workflow: workflow, Status: []world.Status{world.StandsQueued}, Limit: 1000}
	for {
		page, err := e.cfg.World.Runs(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			r := &page.Runs[i]
			class := world.Class{Workflow: r.Workflow, Version: r.Version}
			if slices.ContainsFunc(live, func(w world.WorkerRow) bool { return slices.Contains(w.Classes, class) }) {
				continue
			}
			now := time.Now()
			since, known := gone[class]
			if !known {
				since = now
			}
			if seen[class] = since; now.Sub(since) < e.cfg.FailUnknown {
				continue
			}
			if _, err := e.cfg.World.Deliver(ctx, nobodyKnows(e, class, r.ID)); err != nil && !final(err) {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// nobodyKnows is the cancel of a run that no live worker knows.
func nobodyKnows(e *Engine, class world.Class, run string) *world.Delivery {
	what := fmt.Sprintf("workflow %q", class.Workflow)
	if class.Version > 0 {
		what += fmt.Sprintf(" version %d", class.Version)
	}
	why := fmt.Sprintf("no live worker has had %s for %s", what, e.cfg.FailUnknown)
	return &world.Delivery{Run: run, ID: "no-worker", Events: []world.Event{{
		Type: world.CancelRequested, By: "no worker", Reason: why, Error: &world.Error{Message: why, Code: world.CodeNoWorker, Permanent: true},
	}}}
}
