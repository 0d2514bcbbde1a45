package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestServerTellsItsMetrics: what Prometheus reads of the whole database. What a forced cancel ends is the server's own, in numbers and as a span, which goes
// where the variables say.
func TestServerTellsItsMetrics(t *testing.T) {
	var received atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), "workflow.run") && strings.Contains(string(body), "stepwell") {
			received.Add(1)
		}
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
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
		told := do("GET", "/metrics", "")
		for _, line := range []string{
			`workflow_runs_in_flight{workflow="order"} 1`, `workflow_runs_blocked{reason="NO_WORKER",workflow="order"} 1`,
			`workflow_runs_completed_total{status="cancelled",workflow="order"} 1`, `workflow_retention_swept_total 0`,
		} {
			if !strings.Contains(told, line+"\n") {
				t.Errorf("/metrics has no %s:\n%s", line, told)
			}
		}
	})
	if n := received.Load(); n != 1 {
		t.Errorf("the collector got %d batches with a run's span, want one, sent when the server ended", n)
	}
}

// TestServerRefusesVariables: one that makes no sense is refused at the start, by its name; the database is not made.
func TestServerRefusesVariables(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "pigeon")
	code, _, errs := call{}.do(t.Context(), "server", "--db", filepath.Join(t.TempDir(), "never.db"))
	if code != exitUsage || !strings.Contains(errs, "OTEL_TRACES_EXPORTER") {
		t.Errorf("got exit code %d, %q, want it refused by name", code, errs)
	}
}

// TestTheServersTotalsAreItsOwn: beside a worker the server counts what it wrote itself, and not what the worker did.
func TestTheServersTotalsAreItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	addr := served(t, nil, "--db", path)
	defer http.DefaultClient.CloseIdleConnections()
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
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "workflow_runs_completed_total{") || !strings.Contains(string(text), `workflow_runs_in_flight{workflow="order"} 0`) {
		t.Errorf("the server counts what a worker did, or not what is in flight:\n%s", text)
	}
}
