package telemetry_test

// What the tests share: Apps that are observed, on worlds whose time is virtual.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is an App with its own telemetry, as a process has it.
type process struct {
	*stepwell.App
	tel      *telemetry.Telemetry
	registry *prometheus.Registry
	spans    *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
	stop     func()
}

// begin starts a process that works on a world until it is stopped, or the test ends. Of options it fills in what is nil.
func begin(t *testing.T, w world.World, o telemetry.Options, cfg stepwell.Config) *process {
	t.Helper()
	p := &process{registry: prometheus.NewRegistry(), spans: tracetest.NewInMemoryExporter()}
	if o.TracerProvider == nil {
		p.provider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(p.spans), sdktrace.WithIDGenerator(telemetry.IDGenerator()))
		o.TracerProvider = p.provider
	}
	if o.Registerer == nil {
		o.Registerer = p.registry
	}
	var err error
	if p.tel, err = telemetry.New(o); err != nil {
		t.Fatal(err)
	}
	cfg.Observer = p.tel.Observer()
	if p.App, err = stepwell.New(w, cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stopped := false
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-ended // its error does not matter: its world may be dead
	}
	t.Cleanup(p.stop)
	synctest.Wait()
	return p
}

// flaky fails at the first attempt.
func flaky(ctx context.Context) (int, error) {
	if stepwell.Info(ctx).Attempt == 1 {
		return 0, errors.New("not yet: secret-of-the-author")
	}
	return 1, nil
}

var approved = stepwell.Event[string]("approved")

// order has a step that is tried twice, a night, and a wait for an event.
var order = stepwell.Define("order", func(ctx stepwell.Context, _ string) (int, error) {
	n, err := stepwell.Step(ctx, "charge", flaky, stepwell.Retry{Attempts: 5, Base: time.Minute, Jitter: -1})
	if err != nil {
		return 0, err
	}
	if err := stepwell.Sleep(ctx, "night", 8*time.Minute); err != nil {
		return 0, err
	}
	_, _, err = approved.Wait(ctx)
	return n, err
}, stepwell.Retention(time.Minute))

// broken fails.
var broken = stepwell.Define("broken", func(ctx stepwell.Context, how string) (int, error) {
	if how == "panic" {
		panic("of the code") //stepwell:allow panics what the tests are of
	}
	return 0, fmt.Errorf("no: %s", how)
})

// until polls for what something else brings about.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for range 1000 {
		if cond() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
