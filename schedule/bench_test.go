package schedule_test

// Many schedules on real stores: how soon a thousand start that are due in the same second, of a hundred thousand.

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

const (
	manySchedules = 100_000
	dueAtOnce     = 1_000
)

// BenchmarkThousandDue tells after how many seconds the last of 1,000 was started that are due in the same second, with
// 100,000 schedules in the database and two programs that look.
func BenchmarkThousandDue(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) world.World{
		"sqlite": func(b *testing.B) world.World {
			w, err := sqlite.Open(filepath.Join(b.TempDir(), "app.db"))
			if err != nil {
				b.Fatal(err)
			}
			return w
		},
		"postgres": func(b *testing.B) world.World {
			w, err := postgres.Open(b.Context(), pgtest.URL(b))
			if err != nil {
				b.Fatal(err)
			}
			return w
		},
	} {
		b.Run(name, func(b *testing.B) {
			w := open(b)
			b.Cleanup(func() { _ = w.Close() })
			k := w.Schedules()
			far := time.Now().Add(1_000 * time.Hour).Truncate(time.Second)
			put(b, k, manySchedules, func(i int) time.Time { return far.Add(time.Duration(i) * time.Second) })
			of := stepwell.Define("report", func(ctx stepwell.Context, in int) (int, error) { return in, nil })
			app, _ := run(b, w, of)
			if name == "postgres" {
				run(b, w)
			}
			for b.Loop() {
				due := time.Now().Truncate(time.Second).Add(8 * time.Second)
				put(b, k, dueAtOnce, func(int) time.Time { return due })
				if time.Now().After(due) {
					b.Fatal("they were made too late")
				}
				<-time.After(time.Until(due))
				for n := 0; n < dueAtOnce; {
					<-time.After(50 * time.Millisecond)
					n = 0
					for _, err := range app.List(b.Context(), stepwell.ListFilter{Since: due}) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
				b.ReportMetric(time.Since(due).Seconds(), "s-until-the-last")
			}
		})
	}
}

func put(b *testing.B, k world.Scheduler, n int, due func(i int) time.Time) {
	b.Helper()
	var all sync.WaitGroup
	for part := range 64 {
		all.Go(func() {
			for i := part; i < n; i += 64 {
				at := due(i)
				s := world.Schedule{
					Name: fmt.Sprintf("s-%d-%d", n, i),
					Says: world.ScheduleSpec{Workflow: "report", Times: []string{"0 3 * * *"}, Zone: "Europe/Berlin", Input: []byte("1")},
					Is:   world.ScheduleSoFar{Next: at, Due: at, Seen: at.Add(-time.Second)},
				}
				if put, err := k.PutSchedule(b.Context(), s); err != nil || !put {
					b.Errorf("put: %v, %v", put, err)
				}
			}
		})
	}
	all.Wait()
}
