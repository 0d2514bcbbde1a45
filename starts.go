package stepwell

// What keeps runs from beginning: holds, and times within which they are to.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// lookAfterStarts goes on with what others left undone of what keeps runs from beginning, and ends the runs that have
// not begun in time. It tells when there is more to do; 0: nothing is known.
func lookAfterStarts(ctx context.Context, a *App) time.Duration {
	starts := a.world.Starts()
	const again = 5 * time.Second
	next, err := starts.Settle(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.cfg.Logger.Warn("cannot continue with holding or releasing a workflow, or give back places of limits that nobody uses", "error", err, "hint", "It is tried again")
		}
		next = again
	}
	for {
		due, err := starts.Lapsing(ctx)
		if err == nil {
			err = lapse(ctx, a, due.Runs)
		}
		if err != nil {
			if ctx.Err() == nil {
				a.cfg.Logger.Warn("runs that have not begun in time cannot be ended now", "error", err, "hint", "It is tried again")
			}
			return again
		}
		if !due.More {
			if next == 0 || due.Next > 0 && due.Next < next {
				next = due.Next
			}
			return next
		}
	}
}

// lapses is how many runs are ended at once.
const lapses = 32

// lapse ends runs that have not begun in time.
func lapse(ctx context.Context, a *App, runs []world.LapsingRun) error {
	errs := make(chan error, len(runs))
	turn := make(chan struct{}, lapses)
	for _, r := range runs {
		turn <- struct{}{}
		go func() {
			defer func() { <-turn }()
			errs <- lapseOne(ctx, a, r)
		}()
	}
	var first error
	for range runs {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func lapseOne(ctx context.Context, a *App, r world.LapsingRun) error {
	d := &world.Delivery{Run: r.Run, Act: true, Unbegun: true, Events: []world.Event{world.Lapse(r.Within)}}
	err := endByForce(ctx, a, "end", d)
	if errors.Is(err, ErrTerminal) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// held says of a run that is ready, and that nobody takes, whether its workflow is held.
func held(ctx context.Context, a *App, w *Why, unbegun bool) error {
	if w.Kind != WhyHeld && (!unbegun || w.Kind != WhyQueued && w.Kind != WhyNoWorker && w.Kind != WhyDelayed) {
		return nil
	}
	all, err := a.world.Starts().Holds(ctx)
	if errors.Is(err, ErrInvalid) { // a server that is older
		return nil
	}
	if err != nil {
		return fmt.Errorf("why run %s: whether its workflow is held: %w", w.Run, err)
	}
	for _, h := range all {
		if h.Workflow == w.Workflow {
			w.Kind, w.Since, w.By, w.Reason = WhyHeld, h.Since, h.By, h.Note
		}
	}
	return nil
}

// startTTLOption fits workflows, starts and children.
type startTTLOption time.Duration

// StartTTL limits how long a run may wait for its start. A run that has not begun within d is
// cancelled with code NOT_STARTED: because no worker has a free slot, its workflow is held, or it
// stands in line for a limit. Callers that wait for its result get an error that matches
// [ErrCancelled].
//
// The time counts from the start, or from the end of the start's [Delay]; waking the run earlier
// does not shorten it. A fork or a retry begins when a worker first claims it.
//
// The StartTTL of a workflow applies to all starts. That of a start overrides it: there 0 means the
// workflow's, and [Forever] means no limit.
func StartTTL(d time.Duration) RunOption { return startTTLOption(d) }

func (d startTTLOption) workflowOption(o *workflowOptions) {
	if d <= 0 {
		o.faults = append(o.faults, fmt.Errorf("%w: start TTL %s: must be above zero", ErrInvalid, time.Duration(d)))
	}
	o.startTTL = time.Duration(d)
}

func (d startTTLOption) startOption(o *startOptions) { o.StartTTL = time.Duration(d) }

func (d startTTLOption) childOption(o *childOptions) { o.StartTTL = time.Duration(d) }

// Held is a workflow that is held: see [App.Hold].
type Held struct {
	Workflow string    `json:"workflow"`       // its name
	By       string    `json:"by,omitempty"`   // name of the App, or of the caller, that holds it
	Note     string    `json:"note,omitempty"` // as given to App.Hold
	Since    time.Time `json:"since"`          // when the hold began
}

// Hold holds a workflow: starts are accepted, but no new run begins until [App.Release]. Runs that
// have begun continue, and so do those that a worker is just claiming. You can cancel held runs. A
// hold survives all processes. A second Hold replaces the holder's name and the note.
func (a *App) Hold(ctx context.Context, workflow, note string) error {
	starts, err := a.starter()
	if err != nil {
		return err
	}
	if err := starts.Hold(ctx, world.Hold{Workflow: workflow, By: a.by(ctx), Note: note}); err != nil {
		return fmt.Errorf("hold workflow %s: %w", workflow, err)
	}
	return nil
}

// Release ends the hold of a workflow. Its runs begin in their usual order. Releasing a workflow
// that is not held is harmless.
func (a *App) Release(ctx context.Context, workflow string) error {
	starts, err := a.starter()
	if err == nil {
		err = world.CheckWorkflowName(workflow)
	}
	if err != nil {
		return err
	}
	if err := starts.Release(ctx, workflow); err != nil {
		return fmt.Errorf("release workflow %s: %w", workflow, err)
	}
	return nil
}

// Holds returns the held workflows, by name.
func (a *App) Holds(ctx context.Context) ([]Held, error) {
	starts, err := a.starter()
	if err != nil {
		return nil, err
	}
	all, err := starts.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("list held workflows: %w", err)
	}
	out := make([]Held, len(all))
	for i, h := range all {
		out[i] = Held(h)
	}
	return out, nil
}

func (a *App) starter() (world.Starter, error) {
	if a == nil {
		return nil, kit.Missing("the App")
	}
	return a.world.Starts(), nil
}
