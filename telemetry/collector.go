package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// collector has gauges that are read from a database now and then. Where that does not answer they are left out: all
// else is told.
type collector struct {
	descs   []*prometheus.Desc
	reading reading[[]prometheus.Metric]
}

// collects makes a collector of what is read.
func (o *Options) collects(what string, read func(context.Context) ([]prometheus.Metric, error), descs ...*prometheus.Desc) *collector {
	return &collector{descs, reading[[]prometheus.Metric]{every: o.Every, log: o.Logger, what: what, read: read}}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	all, ok := c.reading.now()
	if !ok {
		return
	}
	for _, m := range all {
		to <- m
	}
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
