package telemetry

// This file writes spans as lines of JSON, for who wants to see them without a collector.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// console is an exporter.
type console struct {
	mu   sync.Mutex
	to   io.Writer // guarded by mu
	done bool      // guarded by mu
}

// line is a span as it is written.
type line struct {
	Name       string         `json:"name"`
	TraceID    string         `json:"traceId"`
	SpanID     string         `json:"spanId"`
	Parent     string         `json:"parentSpanId,omitempty"`
	Start      time.Time      `json:"start"`
	End        time.Time      `json:"end"`
	Status     string         `json:"status,omitempty"`
	Attributes map[string]any `json:"attributes"`
}

var errClosed = errors.New("the exporter is shut down")

// ExportSpans implements [sdktrace.SpanExporter].
func (c *console) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return errClosed
	}
	out := json.NewEncoder(c.to)
	for _, s := range spans {
		l := line{
			Name: s.Name(), TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Start: s.StartTime(), End: s.EndTime(),
			Status: s.Status().Description, Attributes: map[string]any{},
		}
		if s.Parent().SpanID().IsValid() {
			l.Parent = s.Parent().SpanID().String()
		}
		for _, a := range s.Attributes() {
			l.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (c *console) Shutdown(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	return nil
}
