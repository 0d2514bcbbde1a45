package operate

// Workflows that are held, beside what is counted of all.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Workflow is what is counted of a workflow, and whether it is held.
type Workflow struct {
	world.WorkflowStats
	Held *stepwell.Held // nil: it is not
}

// Workflows are the counts of each workflow, see [Counts], with those that are held, by name.
func Workflows(ctx context.Context, app *stepwell.App, stats *world.Stats) ([]Workflow, error) {
	all, err := Counts(ctx, app, stats)
	if err != nil {
		return nil, err
	}
	held, err := Holds(ctx, app)
	if err != nil {
		return nil, err
	}
	out := make([]Workflow, len(all))
	for i, n := range all {
		out[i].WorkflowStats = n
	}
	for i := range held {
		at := slices.IndexFunc(out, func(w Workflow) bool { return w.Workflow == held[i].Workflow })
		if at < 0 {
			at = len(out)
			out = append(out, Workflow{WorkflowStats: world.WorkflowStats{Workflow: held[i].Workflow}})
		}
		out[at].Held = &held[i]
	}
	slices.SortFunc(out, func(a, b Workflow) int { return strings.Compare(a.Workflow, b.Workflow) })
	return out, nil
}

// Holds are the workflows that are held; none where the world holds none.
func Holds(ctx context.Context, app *stepwell.App) ([]stepwell.Held, error) {
	held, err := app.Holds(ctx)
	if errors.Is(err, stepwell.ErrInvalid) { // a world that holds none, or a server that is older
		return nil, nil
	}
	return held, err
}

// Waits tells why runs do not move as far as lists know it: what their rows say, and whether their workflows are held.
type Waits struct {
	stats *world.Stats
	held  []stepwell.Held
}

// WaitsOf asks once for a list.
func WaitsOf(ctx context.Context, app *stepwell.App, stats *world.Stats) (Waits, error) {
	held, err := Holds(ctx, app)
	return Waits{stats, held}, err
}

// Why tells it of a run, as of a time.
func (w Waits) Why(r *stepwell.RunInfo, at time.Time) stepwell.Why {
	why := r.Why(w.stats.Workers, at)
	unbegun := why.Status == world.Pending && (why.Kind == stepwell.WhyQueued || why.Kind == stepwell.WhyNoWorker || why.Kind == stepwell.WhyDelayed)
	if why.Kind != stepwell.WhyHeld && !unbegun {
		return why
	}
	for _, h := range w.held {
		if h.Workflow == r.Workflow {
			why.Kind, why.Since, why.By, why.Reason = stepwell.WhyHeld, h.Since, h.By, h.Note
		}
	}
	return why
}
