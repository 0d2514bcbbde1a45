package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/telemetry"
	_ "github.com/stepwell/stepwell/telemetry/otlp"
	"github.com/stepwell/stepwell/world/memory"
)

var broken = stepwell.Define("broken", func(stepwell.Context, string) (string, error) { return "", errors.New("broken") })

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

// TestVariables: what the exporters read is taken or refused, by its name and without a word of a secret. What is refused here
// the exporters do not print.
func TestVariables(t *testing.T) {
	const endpoint, headers = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
	for name, test := range map[string]struct {
		set  map[string]string
		errs string // "": it is taken
	}{
		"an endpoint":              {map[string]string{endpoint: "http://127.0.0.1:1"}, ""},
		"an endpoint of traces":    {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/x"}, ""},
		"an exporter alone":        {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, ""},
		"grpc":                     {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ""},
		"http/json":                {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json": want http/protobuf or grpc`},
		"traces before all":        {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "x"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
		"headers":                  {map[string]string{endpoint: "http://127.0.0.1:1", headers: "authorization=Bearer%20s3cret, x-tenant=a"}, ""},
		"a header with no =":       {map[string]string{endpoint: "http://127.0.0.1:1", headers: "x-tenant=a,authorization: Bearer s3cret"}, headers + ": entry 2 "},
		"a header that is a key":   {map[string]string{endpoint: "http://127.0.0.1:1", headers: "s3cret"}, headers + ": entry 1 "},
		"a header's name":          {map[string]string{endpoint: "http://127.0.0.1:1", headers: "s3cret key=x"}, headers + ": entry 1 "},
		"a header's value":         {map[string]string{endpoint: "http://127.0.0.1:1", headers: "authorization=s3cret%zz"}, headers + ": entry 1 "},
		"an empty entry":           {map[string]string{endpoint: "http://127.0.0.1:1", headers: "authorization=s3cret,"}, headers + ": entry 2 "},
		"headers of traces":        {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "s3cret"}, "OTEL_EXPORTER_OTLP_TRACES_HEADERS: entry 1 "},
		"with grpc":                {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", headers: "s3cret"}, headers + ": entry 1 "},
		"an endpoint that is none": {map[string]string{endpoint: "http://me:s3cret@[::1"}, endpoint + " is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			only(t, test.set)
			p, _, err := telemetry.TracerProvider("")
			if p != nil {
				_ = p.Shutdown(context.Background())
			}
			if test.errs == "" && err != nil || test.errs != "" && (!errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), test.errs)) {
				t.Errorf("error %v, want %q", err, test.errs)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
}

// TestTheVersionThatIsNeeded: what is released beside the root needs the root as it is released.
func TestTheVersionThatIsNeeded(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	next := regexp.MustCompile(`(?m)^## (v\S+)`).FindSubmatch(changes)
	if want := "github.com/stepwell/stepwell " + string(next[1]) + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
}
