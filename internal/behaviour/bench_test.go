package behaviour_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// worlds are what the benchmarks run on.
func worlds(b *testing.B) map[string]func() world.World {
	return map[string]func() world.World{
		"memory": func() world.World { return memory.New() },
		"sqlite": func() world.World {
			w, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { w.Close() })
			return w
		},
	}
}

// BenchmarkSerial10 is the throughput of 10-step serial runs at several concurrencies; one operation is one step. On PostgreSQL: see world/postgres.
func BenchmarkSerial10(b *testing.B) {
	for _, name := range []string{"memory", "sqlite"} {
		for _, clients := range []int{1, 32, 256} {
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) {
				wf := serial(10)
				w := worlds(b)[name]()
				app := work(b, w, stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRuns: 300, MaxSteps: 300})
				runs := make(chan struct{}, clients)
				var wg sync.WaitGroup
				b.ResetTimer()
				began := time.Now()
				for range clients {
					wg.Go(func() {
						for range runs {
							run, err := wf.Start(context.Background(), app, 0)
							if err == nil {
								_, err = run.Result(context.Background())
							}
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				for range max(b.N/10, 1) {
					runs <- struct{}{}
				}
				close(runs)
				wg.Wait()
				b.ReportMetric(float64(max(b.N/10, 1)*10)/time.Since(began).Seconds(), "steps/s")
				if s, err := w.Stats(b.Context()); err == nil {
					b.ReportMetric(float64(s.Counters.Commits)/float64(max(s.Counters.Groups, 1)), "commits/group")
				}
			})
		}
	}
}
