package server

// This file holds what telemetry needs of a server: its metrics, the trace of whoever starts a run, and what it sweeps.

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
)

func telemetryRoutes() []route {
	return []route{
		{method: "GET", path: "/metrics", scope: Viewer, handle: atSystem((*system).metrics), raw: true, op: operation{
			id: "metrics", summary: "Metrics for Prometheus, which sends a key as its bearer token",
			responses: []response{{200, "", textPlain, "The text format of Prometheus, or OpenMetrics where that is asked for."}},
		}},
	}
}

func (y *system) metrics(w http.ResponseWriter, r *request) error {
	if y.opts.Metrics == nil {
		return fmt.Errorf("%w: this server has no metrics", errNoRoute)
	}
	y.opts.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// traceparent is what a header of that name must be: https://www.w3.org/TR/trace-context. IDs of zeros mean none.
var (
	traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
	tracestate  = regexp.MustCompile(`^[\x20-\x7e]{1,512}$`)
)

// traceOf adds the trace of a request to the context of the run that it starts, but for what the body says. Headers that are no trace are
// passed over, as the standard asks.
func traceOf(h http.Header, given map[string]string) map[string]string {
	parent := h.Get("Traceparent")
	known := given["traceparent"] != "" || given["tracestate"] != ""
	if known || !traceparent.MatchString(parent) || strings.HasPrefix(parent, "ff") ||
		parent[3:35] == strings.Repeat("0", 32) || parent[36:52] == strings.Repeat("0", 16) {
		return given
	}
	out := maps.Clone(given)
	if out == nil {
		out = map[string]string{}
	}
	out["traceparent"] = parent
	if state := strings.Join(h.Values("Tracestate"), ","); tracestate.MatchString(state) {
		out["tracestate"] = state
	}
	return out
}

// tellSwept tells the App's Observer that runs were deleted. One that panics is logged and changes nothing.
func (s *Server) tellSwept(runs int) {
	o := s.app.Observer()
	if o == nil || o.Swept == nil || runs == 0 {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("the Observer panicked", "err", fmt.Sprint(v))
		}
	}()
	o.Swept(runs)
}
