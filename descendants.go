package stepwell

// What was made of a run: its forks, restarts and retries.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// MadeRun is a run that [App.Fork], [App.Restart] or [App.Retry] made from another.
type MadeRun struct {
	ID       string       `json:"id"`       // run ID
	Workflow string       `json:"workflow"` // its name
	Version  int          `json:"version"`  // 0: the worker that first claims the run decides
	Status   world.Status `json:"status"`   // pending, running, or how it ended
	// Retry means that it replaced the other run: it is a retry, or a restart in place.
	Retry bool `json:"retry,omitempty"`
	// At is the number of the other run's event after which it began; 1: from the start.
	At        int64     `json:"at"`
	CreatedAt time.Time `json:"createdAt"` // when the run was made
}

// mostMade is how many of them a [Story] tells.
const mostMade = 20

// made reads what was made of a run: the newest, and whether there are more.
func (a *App) made(ctx context.Context, run string) (made []MadeRun, more bool, err error) {
	page, err := a.world.Runs(ctx, world.RunQuery{Origin: run, Limit: mostMade})
	if err != nil {
		return nil, false, fmt.Errorf("find the runs made from run %s: %w", run, err)
	}
	for i := range page.Runs {
		r := &page.Runs[i]
		is := MadeRun{ID: r.ID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, Retry: r.Key == world.RetryKey(run), CreatedAt: r.CreatedAt}
		if r.Origin != nil {
			is.At = r.Origin.Seq
		}
		made = append(made, is)
	}
	return made, page.Cursor != "", nil
}
