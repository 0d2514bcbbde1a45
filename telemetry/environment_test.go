package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world/memory"
)

// receiver is a collector that speaks OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    map[string]int    // by name; guarded by mu
	traces   map[string]bool   // guarded by mu
	resource map[string]string // guarded by mu
	header   string            // guarded by mu
	path     string            // guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{spans: map[string]int{}, traces: map[string]bool{}, resource: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := io.Reader(req.Body)
		if req.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
			return
		}
		var got collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &got); err != nil {
			t.Error(err)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.header, r.path = req.Header.Get("X-Tenant"), req.URL.Path
		for _, rs := range got.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				r.resource[a.Key] = a.Value.GetStringValue()
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					r.spans[s.Name]++
					r.traces[string(s.TraceId)] = true
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// only sets the OTEL_* variables, and no others.
func only(t *testing.T, set map[string]string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, v := range set {
		t.Setenv(name, v)
	}
}

// TestSpansGoWhereTheVariablesSay: with the real exporter, over the loopback.
func TestSpansGoWhereTheVariablesSay(t *testing.T) {
	r := newReceiver(t)
	only(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=acme", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
	})
	tel, err := telemetry.New(telemetry.Options{Service: "not this"})
	if err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{broken}, Observer: tel.Observer()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	run, err := broken.Start(t.Context(), app, "no")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err == nil {
		t.Fatal("the run did not fail")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	last, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := tel.Flush(last); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	early := r.spans["workflow.run"]
	r.mu.Unlock()
	if early != 1 {
		t.Errorf("after Flush %d spans of runs were received, want 1", early)
	}
	if err := tel.Shutdown(last); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spans["workflow.run"] != 1 || len(r.traces) != 1 {
		t.Errorf("received %v in %d traces, want one workflow.run", r.spans, len(r.traces))
	}
	if r.header != "acme" || r.path != "/v1/traces" {
		t.Errorf("sent to %s with header %q, want /v1/traces with acme", r.path, r.header)
	}
	if r.resource["service.name"] != "shop" || r.resource["deployment.environment"] != "test" || r.resource["telemetry.sdk.language"] != "go" {
		t.Errorf("resource %v, want the variables'", r.resource)
	}
}

// TestACollectorThatRefusesIsReportedOnce: and that it takes spans again.
func TestACollectorThatRefusesIsReportedOnce(t *testing.T) {
	var refuses atomic.Bool
	refuses.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			http.Error(w, "no", http.StatusBadRequest)
		}
	}))
	defer server.Close()
	only(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL})
	var log bytes.Buffer
	tel, err := telemetry.New(telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Shutdown(context.Background())
	for i := range 4 {
		refuses.Store(i < 3)
		tel.Observer().RunEnded(observe.Run{ID: "r1", Workflow: "w", Status: "completed"})
		if err := tel.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "could not be sent") != 1 || strings.Count(got, "sent again") != 1 {
		t.Errorf("log: %s, want each once", got)
	}
}

func TestVariables(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	ratio := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.25)).Description()
	for name, test := range map[string]struct {
		set     map[string]string
		on      bool
		sampler string
		err     string
	}{
		"nothing":               {nil, false, "", ""},
		"an endpoint":           {map[string]string{endpoint: "http://127.0.0.1:1"}, true, sdktrace.ParentBased(sdktrace.AlwaysSample()).Description(), ""},
		"an endpoint of traces": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/x"}, true, sdktrace.ParentBased(sdktrace.AlwaysSample()).Description(), ""},
		"grpc":                  {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, sdktrace.ParentBased(sdktrace.AlwaysSample()).Description(), ""},
		"http/json":             {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, "", `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json": want http/protobuf or grpc`},
		"traces before all":     {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "x"}, false, "", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
		"disabled":              {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, "", ""},
		"none":                  {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, "", ""},
		"an exporter alone":     {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, sdktrace.ParentBased(sdktrace.AlwaysSample()).Description(), ""},
		"console":               {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "always_off"}, true, sdktrace.NeverSample().Description(), ""},
		"an unknown exporter":   {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "", "OTEL_TRACES_EXPORTER"},
		"a share":               {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}, true, ratio, ""},
		"no share":              {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "traceidratio"}, true, sdktrace.AlwaysSample().Description(), ""},
		"too large a share":     {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, false, "", "OTEL_TRACES_SAMPLER_ARG"},
		"an unknown sampler":    {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "often"}, false, "", "OTEL_TRACES_SAMPLER"},
	} {
		t.Run(name, func(t *testing.T) {
			only(t, test.set)
			p, sampler, err := telemetry.TracerProvider("")
			if p != nil {
				defer p.Shutdown(context.Background())
			}
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one that names %s", err, test.err)
				}
				if _, err := telemetry.New(telemetry.Options{}); err == nil {
					t.Error("New: no error")
				}
				return
			case err != nil || (p != nil) != test.on:
				t.Fatalf("provider %v, %v, want one: %v", p, err, test.on)
			}
			if test.on && sampler.Description() != test.sampler {
				t.Errorf("sampler %s, want %s", sampler.Description(), test.sampler)
			}
		})
	}
}

// TestConsole: spans as lines on stderr, and the order of a run's.
func TestConsole(t *testing.T) {
	only(t, map[string]string{"OTEL_TRACES_EXPORTER": "console"})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = write
	p, _, err := telemetry.TracerProvider("")
	os.Stderr = before
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Options{TracerProvider: p})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	tel.Observer().RunEnded(observe.Run{ID: "r1", Workflow: "w", Version: 2, Status: "completed", CreatedAt: at, EndedAt: at.Add(time.Second)})
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(read); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"name":"workflow.run"`, `"run_id":"r1"`, `"workflow.version":2`, `"status":"completed"`} {
		if !strings.Contains(got.String(), part) {
			t.Errorf("no %s in %s", part, got.String())
		}
	}
	if strings.Contains(got.String(), "parentSpanId") {
		t.Errorf("a run of its own has a parent: %s", got.String())
	}
}
