package values

import (
	"context"

	"github.com/stepwell/stepwell"
)

// worker keeps its definitions in fields.
type worker struct {
	charge, refund *stepwell.RegisteredStep[int, int]
	flow           *stepwell.Workflow[int, int]
}

func newWorker(do func(context.Context, int) (int, error)) []stepwell.Definition {
	w := &worker{refund: stepwell.DefineStep("refund", do)}
	w.charge = stepwell.DefineStep("charge", do) // want `the step charge is used, and is in no list of definitions`
	w.flow = stepwell.Define("w", func(ctx stepwell.Context, n int) (int, error) {
		if _, err := w.refund.Run(ctx, n); err != nil {
			return 0, err
		}
		return w.charge.Run(ctx, n)
	})
	return []stepwell.Definition{w.flow, w.refund}
}
