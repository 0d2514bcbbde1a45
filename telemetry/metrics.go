package telemetry

// This file holds the metrics of what this process did, and of what all did.

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// totals are a collector of all that is counted.
type totals struct {
	descs  [len(metrics.Specs)]*prometheus.Desc
	counts func() (metrics.Counts, bool) // false: it cannot be told now
}

// newTotals makes a collector of what was counted, by whom the help says.
func newTotals(by string, counts func() (metrics.Counts, bool)) *totals {
	t := &totals{counts: counts}
	for m, s := range metrics.Specs {
		t.descs[m] = prometheus.NewDesc(s.Name, s.Help+". "+by, s.Labels, nil)
	}
	return t
}

// Describe implements [prometheus.Collector].
func (t *totals) Describe(to chan<- *prometheus.Desc) {
	for _, d := range t.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (t *totals) Collect(to chan<- prometheus.Metric) {
	counts, ok := t.counts()
	if !ok {
		return
	}
	if swept := (metrics.Series{Metric: metrics.Swept}); counts[swept].Count == 0 {
		counts[swept] = metrics.Value{} // it has no labels, and so is always there
	}
	for s, v := range counts {
		desc, labels := t.descs[s.Metric], s.LabelValues()
		bounds := metrics.Specs[s.Metric].Buckets
		if bounds == nil {
			to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v.Count), labels...)
			continue
		}
		buckets, n := make(map[float64]uint64, len(bounds)), uint64(0)
		for i, bound := range bounds {
			if i < len(v.Buckets) {
				n += uint64(v.Buckets[i])
			}
			buckets[bound] = n
		}
		to <- prometheus.MustNewConstHistogram(desc, uint64(v.Count), v.Sum, buckets, labels...)
	}
}

// own makes the totals of this process, and the Observer that counts for them.
func own(l *metrics.Labels) (*totals, *observe.Observer) {
	c := metrics.NewCounter(l)
	return newTotals("By this process.", func() (metrics.Counts, bool) { return c.Counts(), true }), counting(c)
}

// ofAll makes the totals of all processes.
func ofAll(keeper world.MetricsKeeper, o *Options) *totals {
	r := reading[metrics.Counts]{
		every: o.Every, log: o.Logger, what: "what all processes have counted",
		read: func(ctx context.Context) (metrics.Counts, error) { return metrics.Read(ctx, keeper) },
	}
	return newTotals("By all processes of the database: the same whoever tells it.", r.now)
}

func counting(c *metrics.Counter) *observe.Observer {
	count := func(m metrics.Metric, workflow, name string) {
		c.Count(metrics.Series{Metric: m, Workflow: workflow, Name: name}, 1, 0)
	}
	took := func(m metrics.Metric, workflow, name string, from, to time.Time) {
		c.Count(metrics.Series{Metric: m, Workflow: workflow, Name: name}, 1, max(to.Sub(from), 0).Seconds())
	}
	return &observe.Observer{
		RunStarted: func(r observe.Run) { count(metrics.RunsStarted, r.Workflow, "") },
		RunEnded: func(r observe.Run) {
			count(metrics.RunsCompleted, r.Workflow, string(r.Status))
			took(metrics.RunSeconds, r.Workflow, "", r.CreatedAt, r.EndedAt)
		},
		StepRetried: func(s observe.Step) {
			if s.Error == nil || s.Error.Code != world.CodeAbandoned {
				count(metrics.StepRetries, s.Run.Workflow, s.Name)
			}
		},
		StepEnded: func(s observe.Step) {
			if !s.StartedAt.IsZero() { // a child run, and a wait for a run, have no body
				took(metrics.StepSeconds, s.Run.Workflow, s.Name, s.StartedAt, s.EndedAt)
			}
		},
		Signal: func(s observe.Signal) { count(metrics.Signals, s.Run.Workflow, s.Event) },
		Swept:  func(runs int) { c.Count(metrics.Series{Metric: metrics.Swept}, int64(runs), 0) },
	}
}
