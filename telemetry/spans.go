package telemetry

// This file makes the spans.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// spans makes the spans of runs.
type spans struct {
	tracer   trace.Tracer
	sampler  sdktrace.Sampler
	own      bool // the provider makes the IDs that it is asked for
	messages bool // of errors
}

func newSpans(p trace.TracerProvider, sampler sdktrace.Sampler, messages bool) *spans {
	if sampler == nil {
		sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	s := &spans{tracer: p.Tracer("github.com/stepwell/stepwell/telemetry"), sampler: sampler, messages: messages}
	// Whether the provider has our generator it does not say, but a span tells. This one is not sampled, and never ends.
	id, span := identity("probe")
	probe := trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: random()}))
	_, got := s.tracer.Start(wanting(probe, span), "probe")
	s.own = got.SpanContext().SpanID() == span
	return s
}

// place is where a run is among traces.
type place struct {
	above trace.SpanContext // what its own span is below; it may have a trace ID alone
	span  trace.SpanContext // its own, as others name it
}

// placeOf tells the place of a run, the same in each process.
func (s *spans) placeOf(run *observe.Run) place {
	id, span := identity(run.ID)
	p := place{above: callers(run.Context)}
	flags := p.above.TraceFlags()
	if p.above.IsValid() {
		id = p.above.TraceID()
	} else {
		p.above = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, Remote: true})
		if s.sampled(id) {
			flags = trace.FlagsSampled
		}
	}
	p.span = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: flags, TraceState: p.above.TraceState(), Remote: true,
	})
	return p
}

// sampled asks for the decision about a run that no caller's trace began. It follows from the trace's ID, so every process has the same.
func (s *spans) sampled(id trace.TraceID) bool {
	r := s.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id, Name: "workflow.run"})
	return r.Decision == sdktrace.RecordAndSample
}

// below is a context for what happens in a run.
func (s *spans) below(ctx context.Context, run *observe.Run) context.Context {
	p := s.placeOf(run)
	if !s.own { // nobody has the ID that the run's span should have
		return trace.ContextWithRemoteSpanContext(ctx, p.above)
	}
	return trace.ContextWithRemoteSpanContext(ctx, p.span)
}

func (s *spans) observer() *observe.Observer {
	return &observe.Observer{
		Starting: func(ctx context.Context, start observe.Start) map[string]string {
			if start.Context["traceparent"] != "" {
				return nil
			}
			return written(trace.SpanContextFromContext(ctx))
		},
		StartingChild: func(parent observe.Run, start observe.Start) map[string]string {
			if start.Context["traceparent"] != "" {
				return nil
			}
			return written(s.placeOf(&parent).span)
		},
		RunEnded:  s.runEnded,
		Attempt:   s.attempt,
		WaitEnded: s.waitEnded,
		Signal:    s.signal,
	}
}

// runAttributes are those that each span has.
func runAttributes(run *observe.Run, more ...attribute.KeyValue) trace.SpanStartEventOption {
	all := append(make([]attribute.KeyValue, 0, 3+len(more)), attribute.String("workflow.name", run.Workflow), attribute.String("run_id", run.ID))
	if run.Version > 0 {
		all = append(all, attribute.Int("workflow.version", run.Version))
	}
	return trace.WithAttributes(append(all, more...)...)
}

func (s *spans) runEnded(run observe.Run) {
	p := s.placeOf(&run)
	ctx := wanting(trace.ContextWithRemoteSpanContext(context.Background(), p.above), p.span.SpanID())
	_, span := s.tracer.Start(ctx, "workflow.run", trace.WithTimestamp(run.CreatedAt), runAttributes(&run, attribute.String("status", string(run.Status))))
	if run.Status == world.Failed {
		s.failed(span, run.Error)
	}
	end(span, run.CreatedAt, run.EndedAt)
}

// attempt brackets a body. Spans that the body begins, and runs that it starts, are below its own.
func (s *spans) attempt(ctx context.Context, step observe.Step) (context.Context, func(error)) {
	ctx, span := s.tracer.Start(s.below(ctx, &step.Run), "workflow.step", runAttributes(&step.Run,
		attribute.String("step.name", step.Name), attribute.String("step.kind", "run"), attribute.Int("step.attempt", step.Attempt)))
	return ctx, func(err error) {
		if err != nil {
			s.failedWith(span, err)
		}
		span.End()
	}
}

func (s *spans) waitEnded(w observe.Wait) {
	kind := "wait"
	if w.Kind == world.KindSleep {
		kind = "sleep"
	}
	_, span := s.tracer.Start(s.below(context.Background(), &w.Run), "workflow.step", trace.WithTimestamp(w.StartedAt), runAttributes(&w.Run,
		attribute.String("step.name", w.Name), attribute.String("step.kind", kind), attribute.Int("step.attempt", 1)))
	end(span, w.StartedAt, w.EndedAt)
}

func (s *spans) signal(sig observe.Signal) {
	_, span := s.tracer.Start(s.below(context.Background(), &sig.Run), "workflow.signal", trace.WithTimestamp(sig.SentAt),
		runAttributes(&sig.Run, attribute.String("event", sig.Event)))
	end(span, sig.SentAt, sig.At)
}

// end ends a span that is told of afterwards; clocks of several machines may differ a little.
func end(span trace.Span, from, to time.Time) {
	if to.Before(from) {
		to = from
	}
	span.End(trace.WithTimestamp(to))
}

// failed marks a span with an error of the log.
func (s *spans) failed(span trace.Span, err *world.Error) {
	what, message := "error", ""
	if err != nil {
		if message = err.Message; err.Code != "" {
			what = err.Code
		} else if err.Name != "" {
			what = err.Name
		}
	}
	s.mark(span, what, message)
}

// failedWith marks a span with what a body returned.
func (s *spans) failedWith(span trace.Span, err error) {
	what := fmt.Sprintf("%T", err)
	var coded interface{ Code() string }
	if errors.As(err, &coded) && coded.Code() != "" {
		what = coded.Code()
	}
	message := ""
	if s.messages {
		message = err.Error()
	}
	s.mark(span, what, message)
}

// mostMessage is how many bytes of an error's message a span has.
const mostMessage = 1024

func (s *spans) mark(span trace.Span, what, message string) {
	span.SetAttributes(attribute.String("error.type", what))
	if !s.messages || message == "" {
		message = what
	}
	span.SetStatus(codes.Error, strings.ToValidUTF8(message[:min(len(message), mostMessage)], ""))
}
