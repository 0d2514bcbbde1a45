package behaviour_test

// Bulk operations and filters.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// No worker is there: the cache cannot matter.
func TestBulk(t *testing.T) {
	onWorlds(t, func(r *rig) {
		app := r.client()
		var ids []string
		for i := range 25 {
			run, err := app.Start(r.ctx, "order", json.RawMessage([]string{`{"city":"Ulm"}`, `{"city":"Bonn"}`}[i%2]))
			if err != nil {
				r.Fatal(err)
			}
			ids = append(ids, run.ID())
		}
		if err := app.ForceCancel(r.ctx, ids[4], ""); err != nil {
			r.Fatal(err)
		}
		f := stepwell.ListFilter{Workflow: "order", Input: stepwell.Match{"city": "Ulm"}}
		if n, err := app.Count(r.ctx, f); n != 13 || err != nil {
			r.Fatalf("Count = %d, %v, want 13", n, err)
		}
		cancel := func(ctx context.Context, run stepwell.RunInfo) error { return app.ForceCancel(ctx, run.ID, "recalled") }
		seen := 0
		for _, err := range app.Bulk(r.ctx, f, cancel) { // stopped
			if err != nil {
				r.Fatal(err)
			}
			if seen++; seen == 5 {
				break
			}
		}
		count := func(s ...world.Status) int {
			n, err := app.Count(r.ctx, stepwell.ListFilter{Status: s})
			if err != nil {
				r.Fatal(err)
			}
			return n
		}
		if got := count(world.Cancelled); got != 6 {
			r.Errorf("%d runs are cancelled after the stop, want 6", got)
		}
		done, refused := 0, 0
		broken := errors.New("refused")
		for res, err := range app.Bulk(r.ctx, f, func(ctx context.Context, run stepwell.RunInfo) error {
			if run.ID == ids[8] {
				return broken
			}
			return cancel(ctx, run)
		}) { // repeated
			switch {
			case err != nil:
				r.Fatal(err)
			case res.Err == nil:
				done++
			case errors.Is(res.Err, broken) && res.Run.ID == ids[8]:
				refused++
			default:
				r.Errorf("run %s: %v", res.Run.ID, res.Err)
			}
		}
		if done != 12 || refused != 1 || count(world.Cancelled) != 12 || count(world.Pending) != 13 {
			r.Errorf("done %d, refused %d, %d cancelled, %d pending; want 12, 1, 12, 13", done, refused, count(world.Cancelled), count(world.Pending))
		}
		ctx, stop := context.WithCancel(r.ctx)
		stop()
		for _, err := range app.Bulk(ctx, f, cancel) {
			if !errors.Is(err, context.Canceled) {
				r.Errorf("after the end of its context: %v", err)
			}
		}
		if _, err := app.Count(r.ctx, stepwell.ListFilter{Input: json.RawMessage(`{`)}); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("a filter that is no JSON: %v, want ErrInvalid", err)
		}
	})
}

// endless is a world with a list of so many runs that no page holds, and nothing else. It counts what was handed out.
type endless struct {
	world.World
	runs   int
	every  int // only each of so many matches; the pages between are empty
	pages  int
	handed int
	onPage func(handed int) // before a page is read
}

func (w *endless) Runs(_ context.Context, q world.RunQuery) (page world.RunPage, err error) {
	if w.pages++; w.onPage != nil {
		w.onPage(w.handed)
	}
	const size = 100
	at := 0
	if q.Cursor != "" {
		if at, err = strconv.Atoi(q.Cursor); err != nil {
			return page, err
		}
	}
	for end := min(at+size, w.runs); at < end; at++ {
		if (at+1)%w.every == 0 {
			page.Runs = append(page.Runs, world.Run{ID: strconv.Itoa(at), Input: []byte(`{"a": 1}`)})
		}
	}
	if w.handed += len(page.Runs); at < w.runs {
		page.Cursor = strconv.Itoa(at)
	}
	return page, nil
}

func newEndless(t *testing.T, runs, every int) (*endless, *stepwell.App) {
	w := &endless{World: memory.New(), runs: runs, every: every}
	t.Cleanup(func() { _ = w.Close() })
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return w, app
}

// However many runs there are, one page of them is in memory, and those that are under way: the next page is read when all others are done.
func TestBulkKeepsOnePage(t *testing.T) {
	t.Parallel()
	const runs, parallel = 20_000, 8
	w, app := newEndless(t, runs, 1)
	met := 0
	w.onPage = func(handed int) {
		if left := handed - met; left >= parallel {
			t.Errorf("a page is read while %d runs of those before wait, want fewer than %d", left, parallel)
		}
	}
	var all sync.WaitGroup // the first acts wait for each other
	all.Add(parallel)
	var now, most atomic.Int64
	act := func(_ context.Context, run stepwell.RunInfo) error {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if len(run.ID) == 1 && run.ID < strconv.Itoa(parallel) {
			all.Done()
			all.Wait()
		}
		return nil
	}
	for r, err := range app.Bulk(t.Context(), stepwell.ListFilter{}, act, stepwell.Parallel(parallel)) {
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		if r.Run.ID != strconv.Itoa(met) {
			t.Fatalf("result %d is of run %s, want the order of the list", met, r.Run.ID)
		}
		met++
	}
	if met != runs || w.pages != runs/100 || most.Load() != parallel {
		t.Errorf("met %d runs on %d pages, %d at most at once; want %d, %d, %d", met, w.pages, most.Load(), runs, runs/100, parallel)
	}
	for _, err := range app.Bulk(t.Context(), stepwell.ListFilter{}, act, stepwell.Parallel(0)) {
		if !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("no act at once: %v, want ErrInvalid", err)
		}
	}
}

// A list goes on by itself over pages that have nothing.
func TestAListGoesOnOverEmptyPages(t *testing.T) {
	t.Parallel()
	w, app := newEndless(t, 10_000, 5_000)
	if n, err := app.Count(t.Context(), stepwell.ListFilter{Input: stepwell.Match{"a": 1}}); n != 2 || err != nil || w.pages != 100 {
		t.Errorf("Count = %d, %v after %d pages; want 2 after 100", n, err, w.pages)
	}
}

// bulkGrace is how long acts may go on that have begun when a bulk operation is stopped.
const bulkGrace = 5 * time.Second

// Who stops a bulk operation is told what became of each run that was begun: they have 5 s to end.
func TestBulkIsStopped(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			_, app := newEndless(t, 1000, 1)
			ctx, stop := context.WithCancelCause(t.Context())
			enough := errors.New("enough")
			began := time.Now()
			var got []string
			var last error
			for r, err := range app.Bulk(ctx, stepwell.ListFilter{}, func(ctx context.Context, run stepwell.RunInfo) error {
				switch run.ID {
				case "4":
					stop(enough)
					<-time.After(4 * time.Second)
				case "5": // begun beside it, or not at all
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return nil
			}, stepwell.Parallel(parallel)) {
				if last = err; err == nil {
					got = append(got, fmt.Sprint(r.Run.ID, " ", r.Err))
				}
			}
			want, took := []string{"0 <nil>", "1 <nil>", "2 <nil>", "3 <nil>", "4 <nil>", "5 enough", "6 <nil>"}[:min(len(got), 4+parallel)], 4*time.Second
			if len(got) > 5 {
				took = bulkGrace
			}
			if len(got) < 5 || !slices.Equal(got, want) || !errors.Is(last, enough) || time.Since(began) != took {
				t.Errorf("%d at once: got %q, then %v, after %s; want %q, %v, %s", parallel, got, last, time.Since(began), want, enough, took)
			}
		})
	}
}

// BenchmarkBulk cancels runs that are pending, one by one and many at once; one operation is a run.
//
//	go test ./internal/behaviour -run '^$' -bench Bulk -benchtime 100000x
func BenchmarkBulk(b *testing.B) {
	for _, parallel := range []int{1, 32} {
		b.Run(fmt.Sprintf("sqlite/parallel=%d", parallel), func(b *testing.B) {
			w := openFile(b, filepath.Join(b.TempDir(), "runs.db"))
			app, err := stepwell.New(w, stepwell.Config{})
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
			var heap, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&heap)
			most, n := heap.HeapInuse, 0
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
			b.ReportMetric(float64(most-heap.HeapInuse)/(1<<20), "more-heap-MiB")
		})
	}
}
