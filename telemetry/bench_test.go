package telemetry_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world/memory"
)

// nowhere is an exporter.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// BenchmarkSerial10 is what it costs to be observed; one operation is one step, of runs of ten, in memory.
func BenchmarkSerial10(b *testing.B) {
	batches := sdktrace.NewTracerProvider(sdktrace.WithBatcher(nowhere{}), sdktrace.WithIDGenerator(telemetry.IDGenerator()))
	b.Cleanup(func() { _ = batches.Shutdown(context.Background()) })
	for name, provider := range map[string]*sdktrace.TracerProvider{
		"nobody": nil, "unsampled": sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), "spans": batches,
	} {
		b.Run(name, func(b *testing.B) {
			w := memory.New()
			defer func() { _ = w.Close() }()
			wf := stepwell.Define("serial", func(ctx stepwell.Context, _ int) (n int, err error) {
				for range 10 {
					if n, err = stepwell.Step(ctx, "add", func(context.Context) (int, error) { return n + 1, nil }); err != nil {
						return n, err
					}
				}
				return n, nil
			})
			cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
			if provider != nil {
				tel, err := telemetry.New(telemetry.Options{Registerer: prometheus.NewRegistry(), TracerProvider: provider})
				if err != nil {
					b.Fatal(err)
				}
				cfg.Observer = tel.Observer()
			}
			app, err := stepwell.New(w, cfg)
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); _ = app.Run(ctx) }()
			b.ReportAllocs()
			b.ResetTimer()
			for range max(b.N/10, 1) {
				run, err := wf.Start(ctx, app, 0)
				if err == nil {
					_, err = run.Result(ctx)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			stop()
			<-done
		})
	}
}
