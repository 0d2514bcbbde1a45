package telemetry

// This file holds the gauges: what the whole database has.

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
)

const (
	lookPage    = 50 // runs a page, where reasons are looked for
	mostLooks   = 20 // pages a reading, of all workflows together
	looksOfEach = 5  // of those, pages of one workflow
)

var (
	inFlight = prometheus.NewDesc("workflow_runs_in_flight",
		"Runs that are not over, in the whole database: the same whoever tells it. Waiting, paused and blocked ones are among them.", []string{"workflow"}, nil)
	blocked = prometheus.NewDesc("workflow_runs_blocked",
		"Runs that cannot go on until somebody does something, in the whole database: the same whoever tells it. NO_WORKER: no worker knows the workflow.",
		[]string{"workflow", "reason"}, nil)
)

// pair is a workflow and a reason.
type pair struct{ workflow, name string }

// gauges read them.
type gauges struct {
	world  world.World
	labels *metrics.Labels
}

func newGauges(o *Options, l *metrics.Labels) *collector {
	return o.collects("the gauges of runs", (&gauges{o.World, l}).look, inFlight, blocked)
}

// look reads the gauges.
func (g *gauges) look(ctx context.Context) ([]prometheus.Metric, error) {
	stats, err := g.world.Stats(ctx)
	if err != nil {
		return nil, err
	}
	served := map[string]bool{} // workflows that a living worker knows
	for _, w := range stats.Workers {
		if w.Until.Before(stats.Now) {
			continue
		}
		for _, c := range w.Classes {
			served[c.Workflow] = true
		}
	}
	flying, stuck := map[string]int{}, map[pair]int{}
	looks := mostLooks
	for _, wf := range stats.Workflows {
		name := g.labels.Workflow(wf.Workflow)
		live := wf.Pending + wf.Running
		flying[name] += live
		if idle := live - wf.Blocked - wf.Paused; !served[wf.Workflow] && idle > 0 {
			stuck[pair{name, world.CodeNoWorker}] += idle
		}
		if wf.Blocked > 0 {
			reasons, err := g.reasons(ctx, wf, &looks)
			if err != nil {
				return nil, err
			}
			for reason, n := range reasons {
				stuck[pair{name, reason}] += n
			}
		}
	}
	var out []prometheus.Metric
	for workflow, n := range flying {
		out = append(out, gauge(inFlight, float64(n), workflow))
	}
	for p, n := range stuck {
		out = append(out, gauge(blocked, float64(n), p.workflow, p.name))
	}
	return out, nil
}

// reasons tells why runs of a workflow are blocked. It looks at so many of the newest that are not over; those that it did not come to are "other".
func (g *gauges) reasons(ctx context.Context, wf world.WorkflowStats, looks *int) (map[string]int, error) {
	found, left := map[string]int{}, wf.Blocked
	q := world.RunQuery{Workflow: wf.Workflow, Status: []world.Status{world.Pending, world.Running}, Limit: lookPage}
	for n := 0; n < looksOfEach && *looks > 0 && left > 0; n++ {
		*looks--
		page, err := g.world.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Runs {
			if row := page.Runs[i].Queue; row != nil && row.Blocked != nil && left > 0 {
				found[row.Blocked.Code]++
				left--
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if left > 0 {
		found[metrics.Other] += left
	}
	return found, nil
}
