package server

// This file has the doors to what keeps runs from beginning, for remote workers and clients.

import (
	"cmp"
	"context"
	"fmt"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireStartRoutes() []route {
	return []route{
		actRoute("hold", Operator, "Hold a workflow, so that none of its runs begins, or release it", "WireHoldAct", "WireAccepted", wireHold),
		wireRoute("holds", Viewer, "Tell which workflows are held", "WireNothing", "WireHolds", wireHolds),
	}
}

// startsBelow are the starts as the server's database knows them.
func startsBelow(d *doors) (world.Starter, error) {
	return d.below.Starts(), nil
}

func wireHold(d *doors, r *request, in *wire.HoldAct) (wire.Accepted, error) {
	k, err := startsBelow(d)
	if err != nil {
		return wire.Accepted{}, err
	}
	if err := world.CheckWorkflowName(in.Workflow); err != nil {
		return wire.Accepted{}, err
	}
	if r.limited() != nil {
		return wire.Accepted{}, fmt.Errorf("%w: it is limited to some workflows and steps, and holds none", errScope)
	}
	act := "release"
	if in.Hold {
		act = "hold"
	}
	out, err := lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		if in.Hold {
			return wire.Accepted{Accepted: true}, k.Hold(ctx, world.Hold{Workflow: in.Workflow, By: cmp.Or(acting.Who(r.Context()), in.By), Note: in.Note})
		}
		return wire.Accepted{Accepted: true}, k.Release(ctx, in.Workflow)
	})
	r.SetPathValue("workflow", in.Workflow)
	d.audit.note(r.Request, r.name(), r.route.op.id, "", act, err, because(in.Note)...)
	return out, err
}

// wireHolds leaves out what a key that is limited may not have.
func wireHolds(d *doors, r *request, _ *nothing) (out wire.Holds, err error) {
	k, err := startsBelow(d)
	if err != nil {
		return out, err
	}
	all, err := k.Holds(r.Context())
	for _, h := range all {
		if r.mayWorkflow(h.Workflow) == nil {
			out.Holds = append(out.Holds, h)
		}
	}
	return out, err
}
