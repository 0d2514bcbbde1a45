package behaviour_test

// What strict mode sees of a range over a map: all that differs in what reaches the engine, and nothing else.
// docs/rules.md says so.

import (
	"context"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestStrictModeAndTheOrderOfAMap(t *testing.T) {
	cents := map[int]int{}
	for i := range 64 {
		cents[i] = i
	}
	charge := stepwell.DefineStep("charge", func(_ context.Context, n int) (int, error) { return n, nil })
	// in asks for something in the order of the map.
	in := func(name string, ask func(ctx stepwell.Context, id int) (int, error)) *stepwell.Workflow[map[int]int, int] {
		return stepwell.Define(name, func(ctx stepwell.Context, cents map[int]int) (sum int, err error) {
			for id := range cents {
				n, err := ask(ctx, id)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		})
	}
	names := in("names", func(ctx stepwell.Context, id int) (int, error) {
		return stepwell.Step(ctx, fmt.Sprint("total-", id), func(context.Context) (int, error) { return id, nil })
	})
	inputs := in("inputs", func(ctx stepwell.Context, id int) (int, error) { return charge.Run(ctx, id) })
	bodies := in("bodies", func(ctx stepwell.Context, id int) (int, error) {
		return stepwell.Step(ctx, "total", func(context.Context) (int, error) { return id, nil })
	})
	onWorlds(t, func(r *rig) {
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{names, inputs, bodies, charge}, Strict: true})
		for _, wf := range []*stepwell.Workflow[map[int]int, int]{names, inputs} {
			run := start(r, wk, wf, cents)
			if b := r.blocked(run.ID()); b.Code != world.CodeDiverged {
				r.Errorf("%s: blocked = %s: %s, want DIVERGED", wf.Name(), b.Code, b.Message)
			}
		}
		// Steps of one name that differ in what they captured are the same to the engine: the run completes, and what
		// it comes to is luck, as each evaluation has gone on in another order.
		if _, err := start(r, wk, bodies, cents).Result(r.ctx); err != nil {
			r.Errorf("bodies: %v, want a result", err)
		}
	})
}
