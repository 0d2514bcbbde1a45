package postgres_test

// A bulk operation on PostgreSQL, as the benchmark of this name in internal/behaviour measures it on a file.

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
)

// BenchmarkBulk cancels runs that are pending, one by one and many at once; one operation is a run.
//
//	go test ./world/postgres -run '^$' -bench Bulk -benchtime 100000x
func BenchmarkBulk(b *testing.B) {
	server := pgtest.New(b, pgtest.Config{})
	for _, parallel := range []int{1, 32} {
		b.Run(fmt.Sprintf("postgres/parallel=%d", parallel), func(b *testing.B) {
			app, err := stepwell.New(openFor(b, server.URL(b)), stepwell.Config{})
			if err != nil {
				b.Fatal(err)
			}
			var births sync.WaitGroup
			for side := range 256 {
				births.Go(func() {
					for n := side; n < b.N; n += 256 {
						if _, err := app.Start(b.Context(), "order", json.RawMessage(`{"in":1}`)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			births.Wait()
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			most, n := before.HeapInuse, 0
			b.ResetTimer()
			for r, err := range app.Bulk(b.Context(), stepwell.ListFilter{Workflow: "order"}, func(ctx context.Context, run stepwell.RunInfo) error {
				return app.Cancel(ctx, run.ID, "recalled")
			}, stepwell.Parallel(parallel)) {
				if err != nil || r.Err != nil {
					b.Fatal(err, r.Err)
				}
				if n++; n%5000 == 0 {
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapInuse)
				}
			}
			b.StopTimer()
			if n != b.N {
				b.Fatalf("met %d runs, want %d", n, b.N)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(most-before.HeapInuse)/(1<<20), "more-heap-MiB")
		})
	}
}
