package server

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// upMetrics are those of the tests.
var upMetrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("up 1\n"))
})

// TestMetricsNeedAKey: they tell the names of workflows, so a viewer may read them and a stranger may not.
func TestMetricsNeedAKey(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("viewer:prom:0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{Keys: keys, Metrics: upMetrics})
	for _, test := range []struct {
		key, body string
		status    int
	}{{"", "UNAUTHENTICATED", 401}, {"0123456789abcdeX", "UNAUTHENTICATED", 401}, {"0123456789abcdef", "up 1\n", 200}} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.base+"/metrics?name[]=up", nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.key != "" {
			req.Header.Set("Authorization", "Bearer "+test.key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 4096)
		n, _ := resp.Body.Read(body)
		_ = resp.Body.Close()
		if resp.StatusCode != test.status || !strings.Contains(string(body[:n]), test.body) {
			t.Errorf("key %q: got %d %s, want %d with %s", test.key, resp.StatusCode, body[:n], test.status, test.body)
		}
	}
}

func TestWithoutMetrics(t *testing.T) {
	t.Parallel()
	newRig(t, "memory", Options{}).refused(404, "NO_ROUTE", "GET", "/metrics", "")
}

func TestTraceOfRequests(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const none = "00000000000000000000000000000000"
	for name, test := range map[string]struct {
		header http.Header
		given  map[string]string
		want   map[string]string
	}{
		"nothing":       {nil, nil, nil},
		"a trace":       {http.Header{"Traceparent": {parent}}, nil, map[string]string{"traceparent": parent}},
		"with a state":  {http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}}, map[string]string{"tag": "x"}, map[string]string{"traceparent": parent, "tracestate": "a=1,b=2", "tag": "x"}},
		"the body's":    {http.Header{"Traceparent": {parent}}, map[string]string{"traceparent": "mine"}, map[string]string{"traceparent": "mine"}},
		"malformed":     {http.Header{"Traceparent": {"00-xyz"}}, nil, nil},
		"in capitals":   {http.Header{"Traceparent": {strings.ToUpper(parent)}}, nil, nil},
		"two lines":     {http.Header{"Traceparent": {parent + "\n"}}, nil, nil},
		"version ff":    {http.Header{"Traceparent": {"ff" + parent[2:]}}, nil, nil},
		"no trace ID":   {http.Header{"Traceparent": {"00-" + none + parent[35:]}}, nil, nil},
		"no span ID":    {http.Header{"Traceparent": {parent[:36] + none[:16] + "-01"}}, nil, nil},
		"a huge state":  {http.Header{"Traceparent": {parent}, "Tracestate": {strings.Repeat("a", 513)}}, nil, map[string]string{"traceparent": parent}},
		"a state alone": {http.Header{"Tracestate": {"a=1"}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, traceOf(test.header, test.given)); diff != "" {
				t.Errorf("context: want -, got +:\n%s", diff)
			}
		})
	}
}

// TestAStartKeepsItsTrace: the request's trace is in the run's birth.
func TestAStartKeepsItsTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := newRig(t, "memory", Options{})
	r.want(201, "POST", orders, `{"id": "o1", "input": {"customer": "ada", "cents": 1}, "context": {"a": "b"}}`, "Traceparent", parent)
	page, err := r.world.Events(t.Context(), "o1", world.EventQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "traceparent": parent}, page.Events[0].Birth.Context); diff != "" {
		t.Errorf("context: want -, got +:\n%s", diff)
	}
}

// TestSweepsAreTold: what the server deletes, its App's Observer hears, though it panics once.
func TestSweepsAreTold(t *testing.T) {
	t.Parallel()
	w := &sweepWorld{World: memory.New()}
	defer func() { _ = w.Close() }()
	var runs atomic.Int64
	app, err := stepwell.New(w, stepwell.Config{Observer: &observe.Observer{Swept: func(n int) {
		if runs.Add(int64(n)) == 1000 {
			panic("once")
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.sweep(ctx, time.Millisecond) }()
	waitFor(t, "sweeps to go on", func() bool { return w.sweeps.Load() >= 5 })
	cancel()
	<-done
	if n := runs.Load(); n != 2007 {
		t.Errorf("told of %d runs, want 2007", n)
	}
}
