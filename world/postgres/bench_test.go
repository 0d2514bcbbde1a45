package postgres_test

// What authors get on PostgreSQL: steps a second, and how soon a signal of another process is seen. The server is one of its own, with its defaults and with fsync on.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// openFor opens a World until the benchmark is over.
func openFor(b *testing.B, url string, o ...postgres.Options) *postgres.World {
	b.Helper()
	w, err := postgres.Open(b.Context(), url, o...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := w.Close(); err != nil {
			b.Error(err)
		}
	})
	return w
}

// workFor runs a worker until the benchmark is over, and returns when it has joined.
func workFor(b *testing.B, w world.World, cfg stepwell.Config) *stepwell.App {
	b.Helper()
	app, err := stepwell.New(w, cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("Run = %v", err)
		}
	})
	poll(b, "the worker to join", func() bool { return len(stats(b, w).Workers) > 0 })
	return app
}

// poll waits for what must come.
func poll(b *testing.B, what string, there func() bool) {
	b.Helper()
	for end := time.Now().Add(time.Minute); !there(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("waited in vain for %s", what)
		}
	}
}

func stats(b *testing.B, w world.World) world.Stats {
	b.Helper()
	s, err := w.Stats(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// spread reports the median and the 99th percentile of measurements, in milliseconds.
func spread(b *testing.B, what string, all []time.Duration) {
	b.Helper()
	if len(all) == 0 {
		b.Fatalf("%s: nothing was measured", what)
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2])/1e6, what+"-p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, what+"-p99-ms")
}

// BenchmarkSerial10 is the throughput of 10-step serial runs at several concurrencies, as the benchmark of this name in internal/behaviour measures it on the worlds that
// need no server; one operation is one step.
func BenchmarkSerial10(b *testing.B) {
	const steps = 10
	server := pgtest.New(b, pgtest.Config{})
	wf := stepwell.Define("serial-10", func(ctx stepwell.Context, in int) (int, error) {
		for i := range steps {
			v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return 0, err
			}
			in += v
		}
		return in, nil
	})
	for _, clients := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("postgres/clients=%d", clients), func(b *testing.B) {
			w := openFor(b, server.URL(b))
			app := workFor(b, w, stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRuns: 300, MaxSteps: 300})
			n := max(b.N/steps, 1)
			before := stats(b, w).Counters
			b.ResetTimer()
			began := time.Now()
			runMany(b, app, wf, clients, n)
			b.StopTimer()
			took, after := time.Since(began), stats(b, w).Counters
			b.ReportMetric(float64(n*steps)/took.Seconds(), "steps/s")
			b.ReportMetric(float64(after.Commits-before.Commits)/float64(max(after.Groups-before.Groups, 1)), "commits/group")
			b.ReportMetric(float64(after.Statements-before.Statements)/float64(n*steps), "statements/step")
		})
	}
}

// runMany has clients start n runs, each client one after the other's end.
func runMany(b *testing.B, app *stepwell.App, wf *stepwell.Workflow[int, int], clients, n int) {
	b.Helper()
	runs := make(chan struct{}, clients)
	var wg sync.WaitGroup
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
	for range n {
		runs <- struct{}{}
	}
	close(runs)
	wg.Wait()
}

// BenchmarkSignal is the time from the call that sends a signal until a step of the hibernating run that waited for it has begun in another process, which is another World
// here: with notifications, and where the worker polls, at the default rate. One operation is one signal, at a moment of chance.
func BenchmarkSignal(b *testing.B) {
	server := pgtest.New(b, pgtest.Config{})
	for _, how := range []struct {
		name   string
		opt    postgres.Options
		within time.Duration // of a moment of chance; where the worker polls, what it takes to poll
	}{
		{"notify", postgres.Options{}, 50 * time.Millisecond},
		{"poll", postgres.Options{NoNotify: true}, 5 * time.Second},
	} {
		b.Run("postgres/"+how.name, func(b *testing.B) { benchSignal(b, server.URL(b), how.opt, how.within) })
	}
}

func benchSignal(b *testing.B, url string, opt postgres.Options, within time.Duration) {
	ping := stepwell.Event[int]("ping")
	heard := make(chan time.Time, 1)
	wf := stepwell.Define("listener", func(ctx stepwell.Context, _ int) (int, error) {
		for n := 0; ; n++ {
			if v, _, err := ping.Wait(ctx); v < 0 || err != nil {
				return n, err
			}
			if err := stepwell.Do(ctx, "heard", func(context.Context) error { heard <- time.Now(); return nil }); err != nil {
				return n, err
			}
		}
	})
	theirs, mine := openFor(b, url, opt), openFor(b, url, opt)
	eye := openFor(b, url, postgres.Options{NoNotify: true}) // looks, and is not counted
	app := workFor(b, theirs, stepwell.Config{Definitions: []stepwell.Definition{wf}})
	client, err := stepwell.New(mine, stepwell.Config{})
	if err != nil {
		b.Fatal(err)
	}
	run, err := wf.Start(b.Context(), app, 0)
	if err != nil {
		b.Fatal(err)
	}
	var all, sent []time.Duration
	statements := func() (sender, worker int64) {
		return stats(b, mine).Counters.Statements, stats(b, theirs).Counters.Statements
	}
	s0, w0 := statements()
	s1, w1 := statements()
	looking := [2]int64{s1 - s0, w1 - w0}
	for b.Loop() {
		hibernates(b, eye, run.ID())
		<-time.After(rand.N(within))
		began := time.Now()
		if err := ping.Send(b.Context(), client, run.ID(), 1); err != nil {
			b.Fatal(err)
		}
		sent = append(sent, time.Since(began))
		all = append(all, (<-heard).Sub(began))
	}
	hibernates(b, eye, run.ID())
	s2, w2 := statements()
	b.ReportMetric(float64(s2-s1-looking[0])/float64(len(all)), "sender-statements/signal")
	b.ReportMetric(float64(w2-w1-looking[1])/float64(len(all)), "worker-statements/signal")
	spread(b, "step", all)
	spread(b, "send", sent)
	if err := ping.Send(b.Context(), app, run.ID(), -1); err != nil {
		b.Fatal(err)
	}
	if _, err := run.Result(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// hibernates waits until nobody owns a run, and it has no mail.
func hibernates(b *testing.B, w world.World, run string) {
	b.Helper()
	poll(b, "the run to hibernate", func() bool {
		r, err := w.Run(context.Background(), run)
		if err != nil {
			b.Fatal(err)
		}
		return r.Status == world.Running && r.Queue != nil && r.Queue.Owner == "" && r.Queue.Mail == 0
	})
}
