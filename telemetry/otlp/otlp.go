// Package otlp sends the spans of package telemetry to a collector, over HTTP or gRPC. It is a
// separate module because it links gRPC. A program imports it for its side effect,
//
//	import _ "github.com/stepwell/stepwell/telemetry/otlp"
//
// and sets OTEL_EXPORTER_OTLP_ENDPOINT. Released stepwell commands include it.
package otlp

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/telemetry"
)

func init() { telemetry.RegisterExporter("otlp", exporter) }

const prefix = "OTEL_EXPORTER_OTLP_"

// exporter makes the exporter that the OTEL_EXPORTER_OTLP_* variables describe. It refuses what the exporters themselves
// would print and leave out, since a header holds a secret and so may an address.
func exporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	for _, of := range []string{prefix, prefix + "TRACES_"} {
		if err := checkHeaders(of + "HEADERS"); err != nil {
			return nil, err
		}
		if err := checkEndpoint(of + "ENDPOINT"); err != nil {
			return nil, err
		}
	}
	name := prefix + "TRACES_PROTOCOL"
	if os.Getenv(name) == "" {
		name = prefix + "PROTOCOL"
	}
	switch protocol := os.Getenv(name); strings.ToLower(strings.TrimSpace(protocol)) {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("%w: %s is %q: want http/protobuf or grpc", stepwell.ErrInvalid, name, protocol)
	}
}

// checkHeaders refuses a list that is not name=value,name=value, without a word of what is in it.
func checkHeaders(name string) error {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return nil
	}
	for i, item := range strings.Split(text, ",") {
		key, value, found := strings.Cut(item, "=")
		_, err := url.PathUnescape(value)
		if key = strings.TrimSpace(key); !found || !isToken(key) || err != nil {
			return fmt.Errorf("%w: %s: entry %d is not name=value, with a header's name and a value in which %% begins two hexadecimal digits",
				stepwell.ErrInvalid, name, i+1)
		}
	}
	return nil
}

// isToken reports whether a text may be the name of a header.
func isToken(s string) bool {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	return s != "" && !strings.ContainsFunc(s, other)
}

func checkEndpoint(name string) error {
	if _, err := url.Parse(strings.TrimSpace(os.Getenv(name))); err != nil {
		return fmt.Errorf("%w: %s is not a URL such as http://collector:4318", stepwell.ErrInvalid, name)
	}
	return nil
}
