package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestServerTellsItsMetrics: what Prometheus reads of the whole database. What a forced cancel ends the server counts, and tells as a
// span, which goes where the variables say.
func TestServerTellsItsMetrics(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid:4318")
	path := filepath.Join(t.TempDir(), "app.db")
	t.Run("while it serves", func(t *testing.T) {
		addr := served(t, nil, "--db", path)
		defer http.DefaultClient.CloseIdleConnections()
		do := func(method, url, body string) string {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 300 {
				t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, text, err)
			}
			return string(text)
		}
		do("POST", "/v1/workflows/order/runs", `{"id": "o1", "input": 1}`)
		do("POST", "/v1/workflows/order/runs", `{"id": "o2", "input": 1}`)
		do("DELETE", "/v1/workflows/order/runs/o2?force=true", "")
		has(t, addr, `workflow_runs_in_flight{workflow="order"} 1`, `workflow_runs_blocked{reason="NO_WORKER",workflow="order"} 1`, `workflow_retention_swept_total 0`)
	})
	t.Run("the next one", func(t *testing.T) {
		addr := served(t, nil, "--db", path)
		defer http.DefaultClient.CloseIdleConnections()
		has(t, addr, `workflow_runs_completed_total{status="cancelled",workflow="order"} 1`)
	})
	n := 0
	for _, s := range spansSent.GetSpans() {
		if service, ok := s.Resource.Set().Value("service.name"); ok && service.AsString() == "stepwell" && s.Name == "workflow.run" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the exporter got %d spans of runs, want one, sent when the server ended", n)
	}
}

// spansSent stands for the exporters of telemetry/otlp, which this program does not link.
var spansSent = keptSpans{tracetest.NewInMemoryExporter()}

// kept keeps its spans when it is shut down, as a collector does.
type keptSpans struct{ *tracetest.InMemoryExporter }

func (keptSpans) Shutdown(context.Context) error { return nil }

func init() {
	telemetry.RegisterExporter("otlp", func(context.Context) (sdktrace.SpanExporter, error) { return spansSent, nil })
}

// TestServerRefusesVariables: one that makes no sense is refused at the start, by its name; the database is not made.
func TestServerRefusesVariables(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "pigeon")
	code, _, errs := call{}.do(t.Context(), "server", "--db", filepath.Join(t.TempDir(), "never.db"))
	if code != exitUsage || !strings.Contains(errs, "OTEL_TRACES_EXPORTER") {
		t.Errorf("got exit code %d, %q, want it refused by name", code, errs)
	}
}

// TestTheServersTotalsAreOfAll: one scrape of a server tells what a worker did that is gone, and what a command ended by force.
func TestTheServersTotalsAreOfAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	t.Run("a worker", func(t *testing.T) {
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		works(t, w)
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := app.Start(context.Background(), "order", []byte(`{"customer":"ada","cents":0}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); err == nil {
			t.Fatal("the run did not fail")
		}
		if _, err := app.Start(t.Context(), "nobodys", []byte("1"), stepwell.RunID("stands")); err != nil {
			t.Fatal(err)
		}
	})
	if code, _, errs := (call{}).do(t.Context(), "runs", "cancel", "stands", "--force", "--db", path); code != exitOK {
		t.Fatalf("cancel: exit code %d, %s", code, errs)
	}
	addr := served(t, nil, "--db", path)
	defer http.DefaultClient.CloseIdleConnections()
	has(t, addr, `workflow_runs_started_total{workflow="order"} 1`, `workflow_runs_completed_total{status="failed",workflow="order"} 1`,
		`workflow_run_duration_seconds_count{workflow="order"} 1`, `workflow_runs_in_flight{workflow="order"} 0`,
		`workflow_runs_completed_total{status="cancelled",workflow="nobodys"} 1`)
}

// has looks for lines in what a server tells Prometheus.
func has(t *testing.T, addr string, lines ...string) {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("/metrics has no %s:\n%s", line, text)
		}
	}
}
