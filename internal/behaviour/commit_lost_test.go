package behaviour_test

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// TestARunIsNotLeftBehind: a worker that is told that a run is not its own any more, while the world says that it is,
// hands it back, and the run goes on: no run waits for the worker's end.
func TestARunIsNotLeftBehind(t *testing.T) {
	for name, written := range map[string]bool{"the commit was written": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(r *rig) {
				wf := stepwell.Define("three", func(ctx stepwell.Context, _ int) (sum int, err error) {
					for i, step := range []string{"a", "b", "c"} {
						n, err := stepwell.Step(ctx, step, func(context.Context) (int, error) { return 1 << i, nil })
						if err != nil {
							return 0, err
						}
						sum += n
					}
					return sum, nil
				})
				told := 0
				cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
				r.mode(&cfg)
				app := begin(r.T, faults.New(r.world, func(call faults.Call) faults.Fault {
					if c := call.Commit; c == nil || c.Birth() || len(c.Events) == 0 || c.Release != nil || told == 2 {
						return faults.Fault{}
					}
					told++
					return faults.Fault{Err: world.ErrLeaseLost, Lost: written}
				}), cfg)
				began := time.Now()
				run := start(r, app, wf, 0)
				if sum, err := run.Result(r.ctx); sum != 7 || err != nil || told != 2 {
					r.Errorf("got %d, %v, the lease said to be lost %d times; want 7, nil, 2", sum, err, told)
				}
				if took := time.Since(began); took > time.Minute {
					r.Errorf("the run was over after %s: it waited for its worker", took)
				}
			})
		})
	}
}
