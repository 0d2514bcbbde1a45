package telemetry_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/telemetry"
)

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

// TestVariables: in a program without the exporters of telemetry/otlp.
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
		"an endpoint":           {map[string]string{endpoint: "http://127.0.0.1:1"}, false, "", `import _ "github.com/stepwell/stepwell/telemetry/otlp"`},
		"an endpoint of traces": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/x"}, false, "", "telemetry/otlp"},
		"disabled":              {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, "", ""},
		"none":                  {map[string]string{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, "", ""},
		"an exporter alone":     {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, false, "", "telemetry/otlp"},
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
