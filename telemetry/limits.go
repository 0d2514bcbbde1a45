package telemetry

// This file holds the gauges of limits.

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepwell/stepwell/world"
)

// How much of limits is counted: what is beyond it is left out. Limits are few, and their keys may be many.
const (
	mostLimits    = 200
	mostLimitKeys = 10_000 // of one
	limitKeysPage = 1000
)

var (
	limitPlaces = prometheus.NewDesc("workflow_limit_places", "How many of one key of a limit may be at work at once: runs, steps, messages.", []string{"limit"}, nil)
	limitRuns   = prometheus.NewDesc("workflow_limit_runs",
		"Places of a limit that are held, and runs, steps and messages that stand in line for one, in the whole database. Of its keys the first 10,000 are counted, and 10,000 in the line of each.",
		[]string{"limit", "state"}, nil)
)

// newLimitGauges makes a collector of them.
func newLimitGauges(o *Options) *collector {
	read := func(ctx context.Context) ([]prometheus.Metric, error) { return readLimits(ctx, o.World.Limits()) }
	return o.collects("the gauges of limits", read, limitPlaces, limitRuns)
}

// readLimits reads the gauges.
func readLimits(ctx context.Context, limits world.Limiter) (out []prometheus.Metric, err error) {
	all, err := limits.ListLimits(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all[:min(len(all), mostLimits)] {
		name, held, waiting, behind := all[i].Name, 0, 0, ""
		for range mostLimitKeys / limitKeysPage {
			keys, err := limits.ListLimitKeys(ctx, name, behind, limitKeysPage)
			if err != nil {
				return nil, err
			}
			for _, k := range keys {
				held, waiting = held+k.Used, waiting+k.Waiting
			}
			if len(keys) < limitKeysPage {
				break
			}
			behind = keys[len(keys)-1].Key
		}
		out = append(out, gauge(limitPlaces, float64(all[i].Number()), name),
			gauge(limitRuns, float64(held), name, "held"), gauge(limitRuns, float64(waiting), name, "waiting"))
	}
	return out, nil
}
