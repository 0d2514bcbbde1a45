package telemetry

// This file holds what a program asks for, and what it gets.

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// Options say where metrics and spans go. The zero value uses a registry of its own, and sends
// spans as the OTEL_* variables say: see [TracerProvider].
type Options struct {
	// World is the store from which gauges are read: runs in flight and blocked. Nil: no gauges.
	World world.World
	// Totals reports the counters and histograms of all processes of World, which they store every
	// 10 s, instead of those of this process. It also reports queues and topics. Use it if one
	// process is scraped for all, such as the server. It has no effect if World does not store
	// them: see [world.MetricsKeeper].
	Totals bool
	// Registerer registers the metrics. Nil: a new registry, with metrics of the process, which
	// [Telemetry.Handler] serves.
	Registerer prometheus.Registerer
	// TracerProvider gets the spans. The caller shuts it down. If it was made with
	// [sdktrace.WithIDGenerator] and [IDGenerator], workflow.run is the parent of the run's other
	// spans; otherwise they are siblings in the same trace. Nil: the result of the function
	// TracerProvider.
	TracerProvider trace.TracerProvider
	// Sampler decides about runs that are not part of a caller's trace. It must be the sampler of
	// TracerProvider, so that steps are sampled as their run is. Nil: all are sampled.
	Sampler sdktrace.Sampler
	// Service is the service.name of spans if the OTEL_* variables have none. Default "stepwell".
	Service string
	// ErrorMessages adds error messages to spans. By default a span has only an error's code or
	// type, because messages may be confidential.
	ErrorMessages bool
	// Every is the shortest time between two readings of gauges and Totals. Default 10 s.
	Every time.Duration
	// Logger logs failures to read gauges and to send spans. Default: [slog.Default] from level
	// warn up.
	Logger *slog.Logger
}

// Telemetry makes metrics and spans. It is safe for concurrent use.
type Telemetry struct {
	spans    *spans
	handler  http.Handler
	observer *observe.Observer
	flush    func(context.Context) error
	shutdown func(context.Context) error
}

// New registers the metrics and prepares spans. It fails if a metric of the same name is
// registered, or if an OTEL_* variable is invalid. It does not connect to the collector.
func New(o Options) (*Telemetry, error) {
	if o.Every < 0 {
		return nil, fmt.Errorf("telemetry.New: %w: Options.Every is %s: must not be negative", stepwell.ErrInvalid, o.Every)
	}
	if o.Every == 0 {
		o.Every = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = logs.Default(os.Getenv)
	}
	nothing := func(context.Context) error { return nil }
	t := &Telemetry{flush: nothing, shutdown: nothing}
	counter, err := t.count(&o)
	if err != nil {
		return nil, fmt.Errorf("telemetry.New: %w", err)
	}
	provider := o.TracerProvider
	if provider == nil {
		own, sampler, err := fromEnvironment(o.Service, o.Logger)
		if err != nil {
			return nil, fmt.Errorf("telemetry.New: %w", err)
		}
		provider, o.Sampler = noop.NewTracerProvider(), sampler
		if own != nil {
			provider, t.flush, t.shutdown = own, own.ForceFlush, own.Shutdown
		}
	}
	t.spans = newSpans(provider, o.Sampler, o.ErrorMessages)
	t.observer = observe.Join(counter, t.spans.observer())
	return t, nil
}

// count makes and registers the metrics, and the handler that serves them. It returns the Observer that counts; nil: nothing is counted here.
func (t *Telemetry) count(o *Options) (*observe.Observer, error) {
	to := o.Registerer
	if to == nil {
		own := prometheus.NewRegistry()
		own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		to = own
	}
	labels := metrics.NewLabels()
	counts, counter := own(labels)
	all := []prometheus.Collector{counts}
	if o.World != nil {
		all = append(all, newGauges(o, labels))
		if o.Totals {
			all[0], counter = ofAll(o.World, o), nil
			all = append(all, newQueueGauges(o), newLimitGauges(o))
		}
	}
	for i, c := range all {
		if err := to.Register(c); err != nil {
			for _, done := range all[:i] {
				to.Unregister(done)
			}
			return nil, err
		}
	}
	if g, ok := to.(prometheus.Gatherer); ok {
		t.handler = promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 8})
	} else {
		t.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the metrics are in a registry of this program's that cannot be read here", http.StatusNotFound)
		})
	}
	return counter, nil
}

// Observer returns the value for [stepwell.Config].Observer. Combine it with others by
// [observe.Join].
func (t *Telemetry) Observer() *observe.Observer { return t.observer }

// Handler serves the metrics to Prometheus, without authentication. A given Options.Registerer must
// also be a [prometheus.Gatherer], such as a [prometheus.Registry].
func (t *Telemetry) Handler() http.Handler { return t.handler }

// Flush sends ended spans, until ctx ends. Use it in programs that are frozen or ended between
// requests. It does not flush a given TracerProvider.
func (t *Telemetry) Flush(ctx context.Context) error { return t.flush(ctx) }

// Shutdown sends the remaining spans, until ctx ends. It does not shut down a given TracerProvider.
func (t *Telemetry) Shutdown(ctx context.Context) error { return t.shutdown(ctx) }
