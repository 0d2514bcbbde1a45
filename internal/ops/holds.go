package ops

import (
	"context"

	"github.com/stepwell/stepwell/api"
)

// HoldWorkflow holds a workflow: its runs do not begin.
func (o *Ops) HoldWorkflow(ctx context.Context, in api.HoldWorkflow) (out api.Holds, err error) {
	if err := o.app.Hold(ctx, in.Workflow, in.Note); err != nil {
		return out, err
	}
	return o.ListHolds(ctx, api.ListHolds{})
}

// ReleaseWorkflow lets the runs of a held workflow begin.
func (o *Ops) ReleaseWorkflow(ctx context.Context, in api.ReleaseWorkflow) (out api.Holds, err error) {
	if err := o.app.Release(ctx, in.Workflow); err != nil {
		return out, err
	}
	return o.ListHolds(ctx, api.ListHolds{})
}

// ListHolds lists the held workflows, by name.
func (o *Ops) ListHolds(ctx context.Context, _ api.ListHolds) (api.Holds, error) {
	all, err := o.app.Holds(ctx)
	out := make(api.Holds, len(all))
	for i, h := range all {
		out[i] = api.Held(h)
	}
	return out, err
}
