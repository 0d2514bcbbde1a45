package telemetry_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// exposition is what Prometheus reads after what TestMetrics does, but for buckets.
const exposition = `
# HELP workflow_retention_swept_total Runs that were deleted, as their retention was over. By this process.
# TYPE workflow_retention_swept_total counter
workflow_retention_swept_total 2
# HELP workflow_runs_blocked Runs that cannot go on until somebody does something, in the whole database: the same whoever tells it. NO_WORKER: no worker knows the workflow.
# TYPE workflow_runs_blocked gauge
workflow_runs_blocked{reason="NO_WORKER",workflow="nobodys"} 1
workflow_runs_blocked{reason="PANIC",workflow="broken"} 1
# HELP workflow_runs_completed_total Runs that ended: completed, failed or cancelled. By this process.
# TYPE workflow_runs_completed_total counter
workflow_runs_completed_total{status="cancelled",workflow="order"} 1
workflow_runs_completed_total{status="completed",workflow="order"} 1
workflow_runs_completed_total{status="failed",workflow="broken"} 1
# HELP workflow_runs_in_flight Runs that are not over, in the whole database: the same whoever tells it. Waiting, paused and blocked ones are among them.
# TYPE workflow_runs_in_flight gauge
workflow_runs_in_flight{workflow="broken"} 1
workflow_runs_in_flight{workflow="nobodys"} 1
workflow_runs_in_flight{workflow="order"} 1
# HELP workflow_runs_started_total Runs that began. By this process.
# TYPE workflow_runs_started_total counter
workflow_runs_started_total{workflow="broken"} 2
workflow_runs_started_total{workflow="order"} 3
# HELP workflow_signals_total Signals that came to their runs. By this process.
# TYPE workflow_signals_total counter
workflow_signals_total{event="approved",workflow="order"} 1
# HELP workflow_step_retries_total Attempts of steps that failed and are followed by another. By this process.
# TYPE workflow_step_retries_total counter
workflow_step_retries_total{step="charge",workflow="order"} 3
`

// durations are the histograms: virtual time makes them exact. A charge takes the minute between its attempts.
const durations = `
# HELP workflow_step_duration_seconds Time from the first start of a step to its end, retries and their delays included. By this process.
# TYPE workflow_step_duration_seconds histogram
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.005"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.01"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.025"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.05"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.1"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.25"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="0.5"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="1"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="2.5"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="5"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="15"} 0
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="60"} 3
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="300"} 3
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="1800"} 3
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="3600"} 3
workflow_step_duration_seconds_bucket{step="charge",workflow="order",le="+Inf"} 3
workflow_step_duration_seconds_sum{step="charge",workflow="order"} 180
workflow_step_duration_seconds_count{step="charge",workflow="order"} 3
`

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		p := begin(t, w, telemetry.Options{World: w}, stepwell.Config{
			Definitions: []stepwell.Definition{order, broken}, SweepInterval: 3 * time.Minute,
		})
		for _, id := range []string{"o1", "o2", "o3"} {
			if _, err := order.Start(t.Context(), p.App, "", stepwell.RunID(id)); err != nil {
				t.Fatal(err)
			}
		}
		for _, how := range []string{"fails", "panic"} {
			if _, err := broken.Start(t.Context(), p.App, how); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Start(t.Context(), "nobodys", []byte("1")); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		if err := approved.Send(t.Context(), p.App, "o1", "yes"); err != nil {
			t.Fatal(err)
		}
		if err := p.Cancel(t.Context(), "o2", "no longer"); err != nil {
			t.Fatal(err)
		}
		<-time.After(20 * time.Minute) // two are swept: the broken one is kept for 30 days
		names := []string{
			"workflow_retention_swept_total", "workflow_runs_blocked", "workflow_runs_completed_total", "workflow_runs_in_flight",
			"workflow_runs_started_total", "workflow_signals_total", "workflow_step_retries_total",
		}
		if err := testutil.GatherAndCompare(p.registry, strings.NewReader(exposition), names...); err != nil {
			t.Error(err)
		}
		if err := testutil.GatherAndCompare(p.registry, strings.NewReader(durations), "workflow_step_duration_seconds"); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(p.registry, "workflow_run_duration_seconds"); err != nil || n != 2 {
			t.Errorf("workflow_run_duration_seconds has %d series, %v, want one each of order and broken", n, err)
		}
		all, err := p.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 9 {
			t.Errorf("%d metrics, want the nine of the design", len(all))
		}
		if problems, err := testutil.GatherAndLint(p.registry); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}

// TestNamesMadeOfDataAreBounded: a step's name with an ID in it, and workflows made up as they come, end in "other".
func TestNamesMadeOfDataAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	tel, err := telemetry.New(telemetry.Options{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	o := tel.Observer()
	at := time.Unix(1000, 0)
	for i := range 400 {
		name := fmt.Sprint("name-", i)
		one := observe.Run{Workflow: "one", Status: world.Completed, CreatedAt: at, EndedAt: at}
		o.StepEnded(observe.Step{Run: one, Name: name, StartedAt: at, EndedAt: at})
		o.StepRetried(observe.Step{Run: one, Name: name})
		o.Signal(observe.Signal{Run: one, Event: name})
		many := one
		many.Workflow = name
		o.RunStarted(many)
		o.RunEnded(many)
		o.StepEnded(observe.Step{Run: many, Name: "s" + name, StartedAt: at, EndedAt: at})
	}
	for metric, want := range map[string]int{
		"workflow_runs_started_total": 200, "workflow_runs_completed_total": 200, "workflow_run_duration_seconds": 200, // 199 beside one, and "other"
		"workflow_step_retries_total": 101, "workflow_signals_total": 101,
		"workflow_step_duration_seconds": 101 + 199 + 101, // one's, those of the other workflows that are known, and 100 and "other" of those that are not
	} {
		if n, err := testutil.GatherAndCount(registry, metric); err != nil || n != want {
			t.Errorf("%s has %d series, %v, want %d", metric, n, err, want)
		}
	}
	for i := range 15 * 100 {
		o.Signal(observe.Signal{Run: observe.Run{Workflow: fmt.Sprint("name-", i/100)}, Event: fmt.Sprint(i)})
	}
	// A thousand of all workflows together: a hundred are one's. "other" is one's, and that of the six which came too late.
	if n, err := testutil.GatherAndCount(registry, "workflow_signals_total"); err != nil || n != 1000+1+6 {
		t.Errorf("workflow_signals_total has %d series, %v, want %d", n, err, 1000+1+6)
	}
}

// TestGaugesAreReadNowAndThen: however often they are asked for, and not where the database is away; the rest is told all the same.
func TestGaugesAreReadNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &counted{World: memory.New()}
		defer w.Close()
		registry := prometheus.NewRegistry()
		if _, err := telemetry.New(telemetry.Options{World: w, Registerer: registry, Every: time.Minute}); err != nil {
			t.Fatal(err)
		}
		app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Start(t.Context(), "w", []byte("1")); err != nil {
			t.Fatal(err)
		}
		ask := func(want int) {
			t.Helper()
			for range 5 {
				if n, err := testutil.GatherAndCount(registry, "workflow_runs_in_flight"); err != nil || n != want {
					t.Errorf("%d gauges, %v, want %d", n, err, want)
				}
				if n, err := testutil.GatherAndCount(registry, "workflow_retention_swept_total"); err != nil || n != 1 {
					t.Errorf("%d counters, %v, want 1", n, err)
				}
			}
		}
		ask(1)
		if w.reads != 1 {
			t.Errorf("read %d times, want once", w.reads)
		}
		<-time.After(2 * time.Minute)
		w.away = true
		ask(0)
		<-time.After(2 * time.Minute)
		w.away = false
		ask(1)
		if w.reads != 3 {
			t.Errorf("read %d times, want 3", w.reads)
		}
	})
}

// TestBlockedRunsAreCountedWithinBounds: of very many runs only some of the newest are looked at; none is forgotten.
func TestBlockedRunsAreCountedWithinBounds(t *testing.T) {
	w := &crowd{n: 1000, blocked: 700}
	registry := prometheus.NewRegistry()
	if _, err := telemetry.New(telemetry.Options{World: w, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	const want = `
# HELP workflow_runs_blocked Runs that cannot go on until somebody does something, in the whole database: the same whoever tells it. NO_WORKER: no worker knows the workflow.
# TYPE workflow_runs_blocked gauge
workflow_runs_blocked{reason="DIVERGED",workflow="crowd"} 125
workflow_runs_blocked{reason="NO_WORKER",workflow="crowd"} 300
workflow_runs_blocked{reason="PANIC",workflow="crowd"} 125
workflow_runs_blocked{reason="other",workflow="crowd"} 450
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "workflow_runs_blocked"); err != nil {
		t.Error(err)
	}
	if w.rows != 250 {
		t.Errorf("looked at %d runs, want 250", w.rows)
	}
}

func TestHandler(t *testing.T) {
	for name, test := range map[string]struct {
		registerer prometheus.Registerer
		status     int
		has        []string
	}{
		"its own":            {nil, 200, []string{"workflow_retention_swept_total 0", "go_goroutines "}},
		"given":              {prometheus.NewRegistry(), 200, []string{"workflow_retention_swept_total 0"}},
		"given, not to read": {prometheus.WrapRegistererWith(nil, prometheus.NewRegistry()), 404, []string{"cannot be read here"}},
	} {
		t.Run(name, func(t *testing.T) {
			tel, err := telemetry.New(telemetry.Options{Registerer: test.registerer})
			if err != nil {
				t.Fatal(err)
			}
			rec := httptest.NewRecorder()
			tel.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
			body, _ := io.ReadAll(rec.Body)
			if rec.Code != test.status {
				t.Errorf("status %d, want %d", rec.Code, test.status)
			}
			for _, has := range test.has {
				if !strings.Contains(string(body), has) {
					t.Errorf("the answer has no %q:\n%s", has, body)
				}
			}
		})
	}
}

// TestMetricsAreRegisteredOnceAndWhole: a second time is refused, and leaves nothing behind.
func TestMetricsAreRegisteredOnceAndWhole(t *testing.T) {
	registry := prometheus.NewRegistry()
	claimed := prometheus.NewCounter(prometheus.CounterOpts{Name: "workflow_retention_swept_total", Help: "Runs that were deleted, as their retention was over. By this process."})
	registry.MustRegister(claimed)
	if _, err := telemetry.New(telemetry.Options{Registerer: registry}); err == nil {
		t.Fatal("New: no error, want that a name is taken")
	}
	registry.Unregister(claimed)
	if _, err := telemetry.New(telemetry.Options{Registerer: registry}); err != nil {
		t.Errorf("New = %v, want what was refused to be gone", err)
	}
	if _, err := telemetry.New(telemetry.Options{Every: -1}); err == nil {
		t.Error("New with a negative Every: no error")
	}
}
