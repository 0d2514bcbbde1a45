package telemetry_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world/memory"
)

// A program with a registry and a TracerProvider of its own.
func Example() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
		return stepwell.Step(ctx, "write", func(context.Context) (string, error) { return "hello " + name, nil })
	})
	spans := tracetest.NewInMemoryExporter() // yours goes to a collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(telemetry.IDGenerator()))
	w := memory.New()
	defer func() { _ = w.Close() }()
	tel, err := telemetry.New(telemetry.Options{World: w, Registerer: prometheus.NewRegistry(), TracerProvider: provider})
	if err != nil {
		panic(err)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}, Observer: tel.Observer()})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = app.Run(ctx) }()
	run, _ := greet.Start(ctx, app, "ann")
	fmt.Println(run.Result(ctx))
	stop()
	<-done

	page := httptest.NewRecorder()
	tel.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for lines := bufio.NewScanner(page.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "workflow_runs") {
			fmt.Println(lines.Text())
		}
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, "in the trace of the run:", s.SpanContext.TraceID() == spans.GetSpans()[0].SpanContext.TraceID())
	}
	// Output:
	// hello ann <nil>
	// workflow_runs_completed_total{status="completed",workflow="greet"} 1
	// workflow_runs_in_flight{workflow="greet"} 0
	// workflow_runs_started_total{workflow="greet"} 1
	// workflow.step in the trace of the run: true
	// workflow.run in the trace of the run: true
}
