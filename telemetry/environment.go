package telemetry

// This file makes a TracerProvider of the standard OTEL_* variables. The exporters read by themselves where spans go and how:
// OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE, the same with TRACES_ in them. The SDK reads
// the batches OTEL_BSP_* and the limits OTEL_SPAN_*.

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/stepwell/stepwell"
)

// TracerProvider makes a provider from the OTEL_* variables, with [IDGenerator]. It returns nil if
// they ask for no spans: OTEL_SDK_DISABLED is true, OTEL_TRACES_EXPORTER is none, or there is
// neither an exporter nor an endpoint. service is the service.name if the variables have none; "":
// stepwell. An invalid value is an error that names its variable. The caller shuts the provider
// down. The sampler is for [Options].
func TracerProvider(service string) (*sdktrace.TracerProvider, sdktrace.Sampler, error) {
	return fromEnvironment(service, nil)
}

// fromEnvironment reports failures to log; nil: they go where the SDK says.
func fromEnvironment(service string, log *slog.Logger) (*sdktrace.TracerProvider, sdktrace.Sampler, error) {
	on, err := wanted()
	if err != nil || on == "" {
		return nil, nil, err
	}
	sampler, err := samplerOf()
	if err != nil {
		return nil, nil, err
	}
	exporter, err := exporterOf(on)
	if err != nil {
		return nil, nil, err
	}
	if log != nil {
		exporter = &reporting{SpanExporter: exporter, log: log}
	}
	if service == "" {
		service = "stepwell"
	}
	res, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", service)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w: %w", stepwell.ErrInvalid, err)
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(res), sdktrace.WithSampler(sampler), sdktrace.WithIDGenerator(IDGenerator()),
	), sampler, nil
}

func variable(name string) string { return strings.ToLower(strings.TrimSpace(os.Getenv(name))) }

func refused(name, want string) error {
	return fmt.Errorf("%w: %s is %q: want %s", stepwell.ErrInvalid, name, os.Getenv(name), want)
}

// wanted is the exporter that is asked for; "": none.
func wanted() (string, error) {
	if v := variable("OTEL_SDK_DISABLED"); v == "true" {
		return "", nil
	}
	switch v := variable("OTEL_TRACES_EXPORTER"); v {
	case "none":
		return "", nil
	case "otlp", "console":
		return v, nil
	case "":
	default:
		return "", refused("OTEL_TRACES_EXPORTER", "otlp, console or none")
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return "otlp", nil
		}
	}
	return "", nil
}

// exporters are those that packages outside this module bring.
var exporters struct {
	sync.Mutex
	of map[string]MakeExporter // guarded by Mutex
}

// MakeExporter makes an exporter from its own environment variables. It must not connect to the
// collector.
type MakeExporter func(context.Context) (sdktrace.SpanExporter, error)

// RegisterExporter registers an exporter under a name for OTEL_TRACES_EXPORTER. Package
// telemetry/otlp registers "otlp". It panics if the name is taken.
func RegisterExporter(name string, with MakeExporter) {
	exporters.Lock()
	defer exporters.Unlock()
	if exporters.of[name] != nil {
		panic(fmt.Sprintf("telemetry.RegisterExporter: there is an exporter %q already", name))
	}
	if exporters.of == nil {
		exporters.of = map[string]MakeExporter{}
	}
	exporters.of[name] = with
}

// errNoOTLP says what to do in a program that was built without the exporters.
var errNoOTLP = fmt.Errorf(`%w: the OTEL_* variables ask for spans over OTLP, and this program was built without it: `+
	`import _ "github.com/stepwell/stepwell/telemetry/otlp" in your program, take the stepwell of a release, `+
	`or set OTEL_TRACES_EXPORTER to none or console`, stepwell.ErrInvalid)

func exporterOf(kind string) (sdktrace.SpanExporter, error) {
	if kind == "console" {
		return &console{to: os.Stderr}, nil
	}
	exporters.Lock()
	makeIt := exporters.of[kind]
	exporters.Unlock()
	if makeIt == nil {
		return nil, errNoOTLP
	}
	return makeIt(context.Background())
}

// samplerOf is the sampler that OTEL_TRACES_SAMPLER asks for.
func samplerOf() (sdktrace.Sampler, error) {
	const name, arg = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	ratio := func() (sdktrace.Sampler, error) {
		text := strings.TrimSpace(os.Getenv(arg))
		if text == "" {
			return sdktrace.AlwaysSample(), nil
		}
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share >= 0 && share <= 1) {
			return nil, refused(arg, "a number from 0 to 1")
		}
		return sdktrace.TraceIDRatioBased(share), nil
	}
	switch variable(name) {
	case "", "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample()), nil
	case "parentbased_traceidratio":
		s, err := ratio()
		if err != nil {
			return nil, err
		}
		return sdktrace.ParentBased(s), nil
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		return ratio()
	}
	return nil, refused(name, "always_on, always_off, traceidratio, or one of these with parentbased_ in front")
}
