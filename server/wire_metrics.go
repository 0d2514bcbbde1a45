package server

// This file has the doors to what processes have counted.

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireMetricsRoutes() []route {
	return []route{
		actRoute("keepMetrics", Worker, "Keep what a process has counted", "WireProcessMetrics", "WireAccepted", wireKeepMetrics),
		wireRoute("metrics", Worker, "Tell what all processes have counted", "WireNothing", "WireAllMetrics", wireMetrics),
	}
}

func keeperOf(d *doors) (world.MetricsKeeper, error) {
	return d.below, nil
}

// wireKeepMetrics leaves out what a key that is limited may not have.
func wireKeepMetrics(d *doors, r *request, in *wire.ProcessMetrics) (wire.Accepted, error) {
	k, err := keeperOf(d)
	if err != nil {
		return wire.Accepted{}, err
	}
	m := world.ProcessMetrics(*in)
	if r.limited() != nil {
		if len(m.Absorbs) > 0 {
			return wire.Accepted{}, fmt.Errorf("%w: a key that is limited to workflows does not absorb what others have counted", errScope)
		}
		var counts metrics.Counts
		if err := json.Unmarshal(m.Says, &counts); err != nil {
			return wire.Accepted{}, fmt.Errorf("%w: the metrics of process %s: %w", world.ErrInvalid, m.Process, err)
		}
		for of := range counts {
			if r.mayWorkflow(of.Workflow) != nil {
				delete(counts, of)
			}
		}
		if m.Says, err = json.Marshal(counts); err != nil {
			return wire.Accepted{}, err
		}
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, k.KeepMetrics(ctx, &m)
	})
}

// wireMetrics is for who absorbs what others have counted: a key that is limited hears of none.
func wireMetrics(d *doors, r *request, _ *nothing) (wire.AllMetrics, error) {
	k, err := keeperOf(d)
	if err != nil || r.limited() != nil {
		return wire.AllMetrics{}, err
	}
	all, err := k.Metrics(r.Context())
	return wire.AllMetrics{Processes: all}, err
}
