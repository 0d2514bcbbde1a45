package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Held says that a workflow is held, by whom and why.
type Held struct {
	Workflow string    `json:"workflow"`
	By       string    `json:"by,omitempty"`
	Note     string    `json:"note,omitempty"`
	Since    time.Time `json:"since"`
}

// Hold holds a workflow: its starts are accepted, but its runs do not begin until it is released. Runs that have begun
// continue, and so does what a worker is just claiming. You can cancel held runs. A hold survives all processes. A
// second Hold replaces who holds the workflow, and why.
func Hold(ctx context.Context, app *stepwell.App, workflow, note string) error {
	a, err := open(app)
	if err != nil {
		return err
	}
	if err := a.Starts.Hold(ctx, world.Hold{Workflow: workflow, By: a.By(ctx), Note: note}); err != nil {
		return fmt.Errorf("hold workflow %s: %w", workflow, err)
	}
	return nil
}

// Release has the runs of a workflow that was held begin, in the order in which they would have. One that is not held
// stays as it is.
func Release(ctx context.Context, app *stepwell.App, workflow string) error {
	a, err := open(app)
	if err == nil {
		err = world.CheckWorkflowName(workflow)
	}
	if err != nil {
		return err
	}
	if err := a.Starts.Release(ctx, workflow); err != nil {
		return fmt.Errorf("release workflow %s: %w", workflow, err)
	}
	return nil
}

// Holds are the workflows that are held, by name.
func Holds(ctx context.Context, app *stepwell.App) ([]Held, error) {
	a, err := open(app)
	if err != nil {
		return nil, err
	}
	all, err := a.Starts.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("list held workflows: %w", err)
	}
	out := make([]Held, len(all))
	for i, h := range all {
		out[i] = Held(h)
	}
	return out, nil
}

func open(app *stepwell.App) (kit.App, error) {
	if app == nil {
		return kit.App{}, kit.Missing("the App")
	}
	a := kit.AppOf(app)
	if a.Starts == nil {
		return a, fmt.Errorf("%w: its store cannot hold workflows", stepwell.ErrInvalid)
	}
	return a, nil
}
