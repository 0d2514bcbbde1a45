package engine

// Runs whose workflow, or version of it, no live worker has, and runs that wait for a registered step that none has:
// where Config.FailUnknown says so, they fail with NO_WORKER after a while.
//
//  1. Who decides is any worker that lives, and it may be wrong about others: one that is being deployed is not there
//     yet. So it goes by what it has seen itself: at each of its looks for so long, no live worker had what is missing.
//     One look that finds one begins anew, and so does a worker that starts.
//  2. It ends nothing itself. It sends the run a cancel that says why, under one delivery ID, whoever sends it. Whoever
//     claims the run then ends it: a worker that has the code lets it clean up and undo what it did; any other ends it
//     without its code.
//  3. Only runs that are ready count, and those that wait for a queued step: one that sleeps, is paused or is blocked
//     misses nobody.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// absent is what runs need and no live worker has, and since when that is so, as one worker has seen it.
type absent map[wanted]time.Time

// unknownLoop looks for runs that nobody can work on.
func unknownLoop(ctx context.Context, e *Engine) {
	gone := absent{}
	for pause(ctx, min(max(e.cfg.FailUnknown/10, time.Second), time.Minute)) {
		u := &unknown{e: e, gone: gone, seen: absent{}, now: time.Now()}
		if err := u.look(ctx); err == nil {
			gone = u.seen
		} else if ctx.Err() == nil {
			e.cfg.Logger.Info("cannot look for runs of workflows that no worker has", "err", err)
		}
	}
}

// unknown is one look for such runs.
type unknown struct {
	e    *Engine
	live []world.WorkerRow
	gone absent // at the look before
	seen absent // at this one
	now  time.Time
}

func (u *unknown) look(ctx context.Context) error {
	stats, err := u.e.cfg.World.Stats(ctx)
	if err != nil {
		return err
	}
	u.live = slices.DeleteFunc(stats.Workers, func(w world.WorkerRow) bool { return !w.Until.After(stats.Now) })
	for _, wf := range stats.Workflows {
		if wf.Pending+wf.Running == 0 {
			continue
		}
		if err := u.lookAt(ctx, wf.Workflow); err != nil {
			return err
		}
	}
	return nil
}

// lookAt looks at the runs of one workflow that are ready, or wait for a step.
func (u *unknown) lookAt(ctx context.Context, workflow string) error {
	q := world.RunQuery{Workflow: workflow, Status: []world.Status{world.StandsQueued, world.StandsWaiting, world.StandsRetrying, world.StandsLimited}, Limit: 1000}
	for {
		page, err := u.e.cfg.World.Runs(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			r := &page.Runs[i]
			if r.Queue == nil {
				continue
			}
			what, missing, err := u.misses(ctx, r)
			if err == nil && missing {
				err = u.judge(ctx, what, r.ID)
			}
			if err != nil {
				return err
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// misses is what a run needs and no live worker has.
func (u *unknown) misses(ctx context.Context, r *world.Run) (what wanted, missing bool, err error) {
	what.class = world.Class{Workflow: r.Workflow, Version: r.Version}
	if stands := r.Stands(u.now); stands == world.StandsQueued || stands == world.StandsLimited {
		return what, u.missing(what), nil
	}
	quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(strings.TrimPrefix(r.Queue.Waiting, "step "), "retry of "))
	if err != nil {
		return what, false, nil
	}
	key, _ := strconv.Unquote(quoted)
	name, _, _ := strings.Cut(key, "[")
	if !u.missing(wanted{step: key}) || !u.missing(wanted{step: name}) { // as a rule, and nothing more is read
		return what, false, nil
	}
	queued, err := u.e.cfg.World.Tasks(ctx, r.ID)
	for i := range queued {
		t := &queued[i]
		if what = (wanted{step: t.Name}); t.Worker == "" && !t.Visible.After(u.now) && u.missing(what) {
			return what, true, err
		}
	}
	return what, false, err
}

// missing reports whether no live worker has it.
func (u *unknown) missing(what wanted) bool {
	return !slices.ContainsFunc(u.live, func(w world.WorkerRow) bool { return what.in(&w) })
}

// judge notes what a run misses, and ends the run where that has been missing for long enough.
func (u *unknown) judge(ctx context.Context, what wanted, run string) error {
	since, known := u.gone[what]
	if !known {
		since = u.now
	}
	if u.seen[what] = since; u.now.Sub(since) < u.e.cfg.FailUnknown {
		return nil
	}
	_, err := u.e.cfg.World.Deliver(ctx, nobodyHas(what, run, u.e.cfg.FailUnknown))
	if err != nil && final(err) { // it is over, or nothing that this worker can write to
		return nil
	}
	return err
}

// nobodyHas is the cancel of a run that misses something.
func nobodyHas(what wanted, run string, since time.Duration) *world.Delivery {
	name := fmt.Sprintf("workflow %q", what.class.Workflow)
	switch {
	case what.step != "":
		name = fmt.Sprintf("step %q", what.step)
	case what.class.Version > 0:
		name += fmt.Sprintf(" version %d", what.class.Version)
	}
	why := fmt.Sprintf("no live worker has had %s for %s", name, since)
	return &world.Delivery{Run: run, ID: "no-worker", Events: []world.Event{{
		Type: world.CancelRequested, By: "no worker", Reason: why, Error: &world.Error{Message: why, Code: world.CodeNoWorker, Permanent: true},
	}}}
}
