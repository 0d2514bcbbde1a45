package telemetry_test

// Worlds that count how often they are read, or have more than can be looked at.

import (
	"context"
	"errors"
	"strconv"

	"github.com/stepwell/stepwell/world"
)

// counted counts readings of its Stats, and may be away.
type counted struct {
	world.World
	reads int
	away  bool
}

func (w *counted) Stats(ctx context.Context) (world.Stats, error) {
	w.reads++
	if w.away {
		return world.Stats{}, errors.New("away")
	}
	return w.World.Stats(ctx)
}

// crowd is a world with many runs of one workflow, the newest of which are blocked.
type crowd struct {
	world.World
	n, blocked, rows int
}

func (w *crowd) Stats(context.Context) (world.Stats, error) {
	return world.Stats{Workflows: []world.WorkflowStats{{Workflow: "crowd", Running: w.n, Blocked: w.blocked}}}, nil
}

func (w *crowd) Runs(_ context.Context, q world.RunQuery) (page world.RunPage, err error) {
	from := 0
	if q.Cursor != "" {
		if from, err = strconv.Atoi(q.Cursor); err != nil {
			return page, err
		}
	}
	for i := from; i < min(from+q.Limit, w.n); i++ {
		run := world.Run{Queue: &world.QueueRow{}}
		if i < w.blocked {
			run.Queue.Blocked = &world.Block{Code: []string{world.CodePanic, world.CodeDiverged}[i%2]}
		}
		page.Runs = append(page.Runs, run)
	}
	w.rows += len(page.Runs)
	page.Cursor = strconv.Itoa(from + len(page.Runs))
	return page, nil
}
