package stepwell_test

// How often a run is taken and how many commits it costs: counted by the world, for what the design promises of each shape of run.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell"
)

// serial adds 0 … n-1 to its input, a step each.
func serial(n int) *stepwell.Workflow[int, int] {
	return stepwell.Define(fmt.Sprintf("serial-%d", n), func(ctx stepwell.Context, in int) (int, error) {
		for i := range n {
			v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return 0, err
			}
			in += v
		}
		return in, nil
	})
}
