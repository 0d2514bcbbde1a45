package remote

// This file has what keeps runs from beginning.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Starts returns the holds of the server's database; see [world.World]. With an older server
// its methods return [world.ErrInvalid].
func (w *World) Starts() world.Starter { return starts{w} }

// starts are those of a server's database.
type starts struct{ w *World }

func (s starts) act(ctx context.Context, a *wire.HoldAct) error {
	return s.w.ask(ctx, manner{twice: true, long: true}, "hold", a, &wire.Accepted{})
}

// Hold holds a workflow; see [world.Starter].
func (s starts) Hold(ctx context.Context, h world.Hold) error {
	if err := world.CheckHold(&h); err != nil {
		return err
	}
	return s.act(ctx, &wire.HoldAct{Workflow: h.Workflow, Hold: true, By: h.By, Note: h.Note})
}

// Release has the runs of a workflow begin again; see [world.Starter].
func (s starts) Release(ctx context.Context, workflow string) error {
	if world.CheckWorkflowName(workflow) != nil {
		return nil // it is not held
	}
	return s.act(ctx, &wire.HoldAct{Workflow: workflow})
}

// Holds are the workflows that are held; see [world.Starter].
func (s starts) Holds(ctx context.Context) ([]world.Hold, error) {
	var out wire.Holds
	err := s.w.ask(ctx, manner{twice: true}, "holds", struct{}{}, &out)
	return out.Holds, err
}

// Settle is the server's own; see [world.Starter].
func (s starts) Settle(context.Context) (time.Duration, error) { return 0, nil }

// Lapsing is the server's own too; see [world.Starter].
func (s starts) Lapsing(context.Context) (world.Lapsing, error) { return world.Lapsing{}, nil }
