package telemetry

// This file holds the metrics of what this process did.

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// metrics count what this process wrote into logs.
type metrics struct {
	labels    *labels
	started   *prometheus.CounterVec
	completed *prometheus.CounterVec
	run       *prometheus.HistogramVec
	step      *prometheus.HistogramVec
	retries   *prometheus.CounterVec
	signals   *prometheus.CounterVec
	swept     prometheus.Counter
}

var (
	// runBuckets are of runs, which may take milliseconds or weeks.
	runBuckets = []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}
	// stepBuckets are of steps, their retries included.
	stepBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800, 3600}
)

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	return &metrics{
		labels:    newLabels(),
		started:   counter("workflow_runs_started_total", "Runs that began, by this process.", "workflow"),
		completed: counter("workflow_runs_completed_total", "Runs that ended, by this process: completed, failed or cancelled.", "workflow", "status"),
		run:       histogram("workflow_run_duration_seconds", "Time from a run's birth to its end, written by this process.", runBuckets, "workflow"),
		step: histogram("workflow_step_duration_seconds", "Time from the first start of a step to its end, retries and their delays included, written by this process.",
			stepBuckets, "workflow", "step"),
		retries: counter("workflow_step_retries_total", "Attempts of steps that failed and are followed by another, written by this process.", "workflow", "step"),
		signals: counter("workflow_signals_total", "Signals that came to their runs, written by this process.", "workflow", "event"),
		swept:   prometheus.NewCounter(prometheus.CounterOpts{Name: "workflow_retention_swept_total", Help: "Runs that this process deleted, as their retention was over."}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.started, m.completed, m.run, m.step, m.retries, m.signals, m.swept}
}

func (m *metrics) observer() *observe.Observer {
	return &observe.Observer{
		RunStarted: func(r observe.Run) { m.started.WithLabelValues(m.labels.workflow(r.Workflow)).Inc() },
		RunEnded: func(r observe.Run) {
			workflow := m.labels.workflow(r.Workflow)
			m.completed.WithLabelValues(workflow, string(r.Status)).Inc()
			m.run.WithLabelValues(workflow).Observe(seconds(r.CreatedAt, r.EndedAt))
		},
		StepRetried: func(s observe.Step) {
			if s.Error == nil || s.Error.Code != world.CodeAbandoned {
				m.retries.WithLabelValues(m.labels.step(s.Run.Workflow, s.Name)).Inc()
			}
		},
		StepEnded: func(s observe.Step) {
			if !s.StartedAt.IsZero() { // a child run, and a wait for a run, have no body
				m.step.WithLabelValues(m.labels.step(s.Run.Workflow, s.Name)).Observe(seconds(s.StartedAt, s.EndedAt))
			}
		},
		Signal: func(s observe.Signal) {
			m.signals.WithLabelValues(m.labels.event(s.Run.Workflow, s.Event)).Inc()
		},
		Swept: func(runs int) { m.swept.Add(float64(runs)) },
	}
}

// seconds is the time between two moments; clocks of several machines may differ a little.
func seconds(from, to time.Time) float64 { return max(to.Sub(from), 0).Seconds() }
