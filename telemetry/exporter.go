package telemetry

// This file tells operators where spans do not arrive, once and not with each batch.

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reporting is an exporter whose failures go into a log: the first of a row, and the end of that.
type reporting struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans implements [sdktrace.SpanExporter].
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	switch was := r.failing.Swap(err != nil); {
	case err != nil && !was:
		r.log.Warn("spans could not be sent, and are dropped until they can", "spans", len(spans), "err", err)
	case err == nil && was:
		r.log.Info("spans are sent again")
	}
	return nil
}
