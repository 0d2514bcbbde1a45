// What a worker holds.

package memory

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Held lists what a worker owns; see [world.Queue].
func (w *World) Held(ctx context.Context, worker string) (world.Account, error) {
	if err := w.enter(ctx); err != nil {
		return world.Account{}, err
	}
	defer w.mu.Unlock()
	wk := w.workers[worker]
	if wk == nil {
		return world.Account{}, fmt.Errorf("worker %s: %w", worker, world.ErrLeaseLost)
	}
	return *wk.account(), nil
}

// account is what the worker owns now.
func (wk *worker) account() *world.Account {
	a := &world.Account{}
	for r := range wk.runs {
		a.Runs = append(a.Runs, world.OwnedRun{Run: r.id, Claim: r.claim, Last: r.seq})
	}
	for t := range wk.tasks {
		a.Tasks = append(a.Tasks, world.TaskKey{Run: t.run.id, Step: t.Step, Attempt: t.Attempt})
	}
	return a
}
