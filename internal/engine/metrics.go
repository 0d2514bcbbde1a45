package engine

// What is counted for the metrics of all processes: what this one writes into logs, as soon as it is durable.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
)

// Metrics counts for all processes of the world.
func (e *Engine) Metrics() *metrics.Sender { return e.metrics }

// countEvent notes what is to be counted of an event that was folded into st; step is the one that it is about, as it was before.
func (n *notes) countEvent(st *world.State, e *world.Event, step *world.Step) {
	count := func(m metrics.Metric, name string, from, to time.Time) {
		n.count(st.Seq, metrics.Series{Metric: m, Workflow: st.Birth.Workflow, Name: name}, from, to)
	}
	switch e.Type {
	case world.RunStarted:
		count(metrics.RunsStarted, "", e.Time, e.Time)
	case world.RunCompleted, world.RunFailed, world.RunCancelled:
		count(metrics.RunsCompleted, string(st.Status), e.Time, e.Time)
		count(metrics.RunSeconds, "", st.CreatedAt, st.EndedAt)
	case world.StepRetrying:
		if step != nil && (e.Error == nil || e.Error.Code != world.CodeAbandoned) {
			count(metrics.StepRetries, step.Key.Name, e.Time, e.Time)
		}
	case world.StepCompleted, world.StepFailed:
		if step != nil {
			if from := n.startOf(step); !from.IsZero() {
				count(metrics.StepSeconds, step.Key.Name, from, happenedAt(e))
			}
		}
	case world.SignalReceived:
		count(metrics.Signals, e.Name, e.Time, e.Time)
	}
}

// flushTime is how long a worker that ends tries to give what it has counted.
const flushTime = 2 * time.Second

// flushMetrics gives the world what was counted, before the process ends.
func flushMetrics(s *metrics.Sender) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	s.Flush(ctx)
}
