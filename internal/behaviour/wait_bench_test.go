package behaviour_test

// What waiting costs: how late timers and news are, families of runs, replays, memory, and a worker with nothing to do.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// spread reports the median and the 99th percentile of measurements, in milliseconds, and returns the median.
func spread(b *testing.B, what string, all []time.Duration) time.Duration {
	b.Helper()
	if len(all) == 0 {
		b.Fatalf("%s: nothing was measured", what)
	}
	slices.Sort(all)
	p50 := all[len(all)/2]
	b.ReportMetric(float64(p50)/1e6, what+"-p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, what+"-p99-ms")
	return p50
}

// hibernates waits until nobody owns a run.
func hibernates(b *testing.B, w world.World, run string) {
	b.Helper()
	until(b, "the run to hibernate", func() bool {
		r, err := w.Run(context.Background(), run)
		if err != nil {
			b.Fatal(err)
		}
		return r.Status == world.Running && r.Queue != nil && r.Queue.Owner == "" && r.Queue.Mail == 0
	})
}

// BenchmarkTimerLateness is how late a due timer is on an idle system; one operation is one sleep of 20 ms.
func BenchmarkTimerLateness(b *testing.B) {
	for _, name := range []string{"memory", "sqlite"} {
		b.Run(name, func(b *testing.B) {
			late := make(chan time.Duration, 1)
			nap := stepwell.Define("nap", func(ctx stepwell.Context, until time.Time) (int, error) {
				if err := stepwell.SleepUntil(ctx, "nap", until); err != nil {
					return 0, err
				}
				return 0, stepwell.Do(ctx, "woken", func(context.Context) error { late <- time.Since(until); return nil })
			})
			app := work(b, worlds(b)[name](), stepwell.Config{Definitions: []stepwell.Definition{nap}})
			all := make([]time.Duration, 0, b.N)
			for b.Loop() {
				if _, err := nap.Start(b.Context(), app, time.Now().Add(20*time.Millisecond).UTC()); err != nil {
					b.Fatal(err)
				}
				all = append(all, <-late)
			}
			if slices.Min(all) < 0 {
				b.Errorf("a timer was early by %s", -slices.Min(all))
			}
			if p50 := spread(b, "late", all); p50 > 50*time.Millisecond {
				b.Errorf("the median timer is %s late, want at most 50 ms", p50)
			}
		})
	}
}

// listener is a workflow that waits for events and tells a channel of each, after some steps.
func listener(heard chan time.Time) (*stepwell.Workflow[int, int], *stepwell.EventDef[int]) {
	ping := stepwell.Event[int]("ping")
	return stepwell.Define("listener", func(ctx stepwell.Context, steps int) (int, error) {
		for range steps {
			if err := stepwell.Do(ctx, "step", func(context.Context) error { return nil }); err != nil {
				return 0, err
			}
		}
		for n := 0; ; n++ {
			if v, _, err := ping.Wait(ctx); v < 0 || err != nil {
				return n, err
			}
			if err := stepwell.Do(ctx, "heard", func(context.Context) error { heard <- time.Now(); return nil }); err != nil {
				return n, err
			}
		}
	}), ping
}

// BenchmarkNotice is the time from a signal of another connection to the file until a step of the run that waited for it has begun; one operation is
// one signal to a hibernating run.
func BenchmarkNotice(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	heard := make(chan time.Time, 1)
	wf, ping := listener(heard)
	mine := openFile(b, path)
	app := work(b, mine, stepwell.Config{Definitions: []stepwell.Definition{wf}})
	run, err := wf.Start(b.Context(), app, 0)
	if err != nil {
		b.Fatal(err)
	}
	client, err := stepwell.New(openFile(b, path), stepwell.Config{})
	if err != nil {
		b.Fatal(err)
	}
	var all, sent []time.Duration
	for b.Loop() {
		hibernates(b, mine, run.ID())
		began := time.Now()
		if err := ping.Send(b.Context(), client, run.ID(), 1); err != nil {
			b.Fatal(err)
		}
		durable := time.Now()
		sent = append(sent, durable.Sub(began))
		all = append(all, max((<-heard).Sub(durable), 0))
	}
	spread(b, "notice", all)
	spread(b, "send", sent)
	stop(b, app, run, ping)
}

// stop ends a listener.
func stop(b *testing.B, app *stepwell.App, run *stepwell.Run[int], ping *stepwell.EventDef[int]) {
	b.Helper()
	if err := ping.Send(b.Context(), app, run.ID(), -1); err != nil {
		b.Fatal(err)
	}
	if _, err := run.Result(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChildren is a parent with 1,000 children and back, and the same number of starts and results from outside; one operation is one of both.
func BenchmarkChildren(b *testing.B) {
	const n = 1000
	for _, name := range []string{"memory", "sqlite"} {
		b.Run(name, func(b *testing.B) {
			leaf := stepwell.Define("leaf", func(_ stepwell.Context, i int) (int, error) { return i, nil })
			parent := stepwell.Define("parent", func(ctx stepwell.Context, n int) (int, error) {
				fs := make([]*stepwell.Future[int], n)
				for i := range fs {
					fs[i] = leaf.Child().Start(ctx, i).Future
				}
				got, err := stepwell.All(ctx, fs...)
				return len(got), err
			})
			w := worlds(b)[name]()
			app := work(b, w, stepwell.Config{Definitions: []stepwell.Definition{leaf, parent}})
			var family, starts time.Duration
			claims := int64(0)
			for b.Loop() {
				began := time.Now()
				run, err := parent.Start(b.Context(), app, n)
				if err != nil {
					b.Fatal(err)
				}
				if got, err := run.Result(b.Context()); got != n || err != nil {
					b.Fatalf("parent = %d, %v, want %d", got, err, n)
				}
				family += time.Since(began)
				row, err := w.Run(b.Context(), run.ID())
				if err != nil {
					b.Fatal(err)
				}
				claims += row.Claims
				began = time.Now()
				startMany(b, app, leaf, n)
				starts += time.Since(began)
			}
			b.ReportMetric(float64(family.Milliseconds())/float64(b.N), "family-ms")
			b.ReportMetric(float64(starts.Milliseconds())/float64(b.N), "starts-ms")
			b.ReportMetric(float64(family)/float64(starts), "ratio")
			b.ReportMetric(float64(claims)/float64(b.N), "takes/parent")
		})
	}
}

// startMany starts runs from 40 goroutines and waits for their results.
func startMany(b *testing.B, app *stepwell.App, wf *stepwell.Workflow[int, int], n int) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				run, err := wf.Start(b.Context(), app, int(i))
				if err == nil {
					_, err = run.Result(b.Context())
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkLongRun is a signal to a hibernating run of 10,000 events, until its next step has begun: with its machine in the cache, and with a replay.
func BenchmarkLongRun(b *testing.B) {
	const steps = 10_000 / 3
	for _, mode := range modes[:2] {
		b.Run(mode.name, func(b *testing.B) {
			heard := make(chan time.Time, 1)
			wf, ping := listener(heard)
			w := worlds(b)["sqlite"]()
			cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
			mode.set(&cfg)
			app := work(b, w, cfg)
			run, err := wf.Start(b.Context(), app, steps)
			if err != nil {
				b.Fatal(err)
			}
			wake := func() time.Duration {
				hibernates(b, w, run.ID())
				began := time.Now()
				if err := ping.Send(b.Context(), app, run.ID(), 1); err != nil {
					b.Fatal(err)
				}
				return (<-heard).Sub(began)
			}
			wake()
			var all []time.Duration
			for b.Loop() {
				all = append(all, wake())
			}
			spread(b, "wake", all)
			stop(b, app, run, ping)
		})
	}
}

// BenchmarkSleepingRun is what a sleeping run costs, in a process of its own with 50,000 of them; one operation is all of them.
func BenchmarkSleepingRun(b *testing.B) {
	const asleep = 50_000
	bin := buildProgram(b, "github.com/stepwell/stepwell/internal/tools/sleepers")
	var r sleepersReport
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), bin, "-db", filepath.Join(b.TempDir(), fmt.Sprint(b.N, time.Now().UnixNano())), "-asleep", fmt.Sprint(asleep))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v\n%s", err, &stderr)
		}
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(r.Collected.RSS-r.Idle.RSS)/asleep, "resident-B/run")
	b.ReportMetric(float64(r.Collected.Heap-r.Idle.Heap)/asleep, "heap-B/run")
	b.ReportMetric(r.Disk, "disk-B/run")
	b.ReportMetric(asleep/r.Created.Seconds(), "runs/s")
}

// BenchmarkIdleWorker is what a worker on SQLite costs that has 1,000 sleeping runs, and none or one that is in a long step; one operation is five seconds.
func BenchmarkIdleWorker(b *testing.B) {
	const span = 5 * time.Second
	for _, owns := range []bool{false, true} {
		b.Run(fmt.Sprintf("owns=%v", owns), func(b *testing.B) {
			w, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { w.Close() })
			release := make(chan struct{})
			nap := stepwell.Define("nap", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "nap", time.Hour) })
			busy := stepwell.Define("busy", func(ctx stepwell.Context, _ int) (int, error) {
				return 0, stepwell.Do(ctx, "wait", func(context.Context) error { <-release; return nil })
			})
			app := work(b, w, stepwell.Config{Definitions: []stepwell.Definition{nap, busy}})
			b.Cleanup(func() { close(release) }) // before the worker is stopped
			for range 1000 {
				if _, err := nap.Start(b.Context(), app, 0); err != nil {
					b.Fatal(err)
				}
			}
			if owns {
				if _, err := busy.Start(b.Context(), app, 0); err != nil {
					b.Fatal(err)
				}
			}
			<-time.After(time.Second)
			statements := func() int64 {
				s, err := w.Stats(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				return s.Counters.Statements
			}
			before, cpu := statements(), processTime()
			spans := 0
			for b.Loop() {
				<-time.After(span)
				spans++
			}
			seconds := span.Seconds() * float64(spans)
			b.ReportMetric(float64(statements()-before)/seconds, "statements/s")
			b.ReportMetric(float64((processTime()-cpu).Microseconds())/1e3/seconds*10, "cpu-ms/10s")
		})
	}
}
