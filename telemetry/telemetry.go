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

// Options say where metrics and spans go. The zero value counts into a registry of its own, and sends spans where the OTEL_* variables say; see
// [TracerProvider].
type Options struct {
	// World is the database that the gauges are read from: runs in flight and blocked. Nil: there are no gauges.
	World world.World
	// Totals tells counters and histograms of all processes of World, as they give them to it every 10 s, and not of this process: for one that is
	// scraped in the place of all, as the server is; it tells of queues and topics too. Without a World that keeps them
	// it changes nothing; see [world.MetricsKeeper].
	Totals bool
	// Registerer gets the metrics. Nil: a registry of their own, with those of the process, which [Telemetry.Handler] serves.
	Registerer prometheus.Registerer
	// TracerProvider gets the spans; it stays the caller's to shut down. One that was made with [sdktrace.WithIDGenerator] and [IDGenerator] has
	// workflow.run as the parent of what happens in a run. With another, these stand side by side in the same trace. Nil: what [TracerProvider] makes.
	TracerProvider trace.TracerProvider
	// Sampler decides about runs that no caller's trace began. It must be the one of the TracerProvider that was given, so that steps are sampled as
	// their run is. Nil: all are.
	Sampler sdktrace.Sampler
	// Service is the service.name of spans where the OTEL_* variables name none. Default: "stepwell".
	Service string
	// ErrorMessages puts the messages of errors into spans. They are the authors' own and may hold what a collector must not see, so by default a span has
	// an error's code or type alone.
	ErrorMessages bool
	// Every is the least time between two readings of gauges and Totals, however often they are asked for. Default 10 s.
	Every time.Duration
	// Logger is told where these cannot be read, and where spans do not arrive. Default: [slog.Default], from warnings up.
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

// New registers the metrics and makes ready for spans. It fails where a metric of the same name is registered, or where an OTEL_* variable makes no
// sense. It does not look for the collector.
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
		if keeper := world.AbilitiesOf(o.World).MetricsKeeper; o.Totals && keeper != nil {
			all[0], counter = ofAll(keeper, o), nil
		}
		all = append(all, newGauges(o, labels))
		if g := newQueueGauges(o); o.Totals && g != nil {
			all = append(all, g)
		}
		if g := newLimitGauges(o); o.Totals && g != nil {
			all = append(all, g)
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

// Observer is what [stepwell.Config].Observer takes; with others by [observe.Join].
func (t *Telemetry) Observer() *observe.Observer { return t.observer }

// Handler serves the metrics to Prometheus: those of Options.Registerer, where that can be read, like a [prometheus.Registry]. It asks for no key.
func (t *Telemetry) Handler() http.Handler { return t.handler }

// Flush sends what spans have ended, until ctx ends: for programs that are frozen or ended between two requests. A TracerProvider that was given is left
// alone.
func (t *Telemetry) Flush(ctx context.Context) error { return t.flush(ctx) }

// Shutdown sends what spans are left, until ctx ends. A TracerProvider that was given is left alone.
func (t *Telemetry) Shutdown(ctx context.Context) error { return t.shutdown(ctx) }
