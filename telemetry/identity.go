package telemetry

// This file makes the IDs of traces and spans from those of runs, so that every process that works on a run, today or in a month, names the same.

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// identity is what follows from a run's ID: the trace that it has where its caller had none, and its span.
func identity(run string) (t trace.TraceID, s trace.SpanID) {
	sum := sha256.Sum256([]byte("stepwell run " + run))
	copy(t[:], sum[:16])
	copy(s[:], sum[16:24])
	return t, s
}

type wantedKey struct{}

// wanting asks the generator for a span ID.
func wanting(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, wantedKey{}, id)
}

// IDGenerator is for [sdktrace.WithIDGenerator]. It gives the span workflow.run the ID that the
// spans of its steps name as their parent, in any process. Other spans get random IDs.
func IDGenerator() sdktrace.IDGenerator { return generator{} }

type generator struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (generator) NewIDs(context.Context) (t trace.TraceID, s trace.SpanID) {
	for !t.IsValid() {
		fill(t[:8])
		fill(t[8:])
	}
	return t, random()
}

// NewSpanID implements [sdktrace.IDGenerator].
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(wantedKey{}).(trace.SpanID); ok {
		return id
	}
	return random()
}

func random() (s trace.SpanID) {
	for !s.IsValid() {
		fill(s[:])
	}
	return s
}

func fill(b []byte) {
	n := rand.Uint64()
	for i := range 8 {
		b[i] = byte(n >> (8 * i))
	}
}

// w3c reads and writes traceparent and tracestate.
var w3c = propagation.TraceContext{}

// callers is the span that a run was started in, as its context has it.
func callers(of map[string]string) trace.SpanContext {
	if of["traceparent"] == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), propagation.MapCarrier(of)))
}

// written is a span as the context of a run has it; nil where there is none.
func written(sc trace.SpanContext) map[string]string {
	if !sc.IsValid() {
		return nil
	}
	out := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithRemoteSpanContext(context.Background(), sc), out)
	return out
}
