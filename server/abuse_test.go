package server

// What clients may send by mistake or in malice: a clear 4xx, nothing written, and the server lives.

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestBadRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{MaxBody: 4096})
	r.want(201, "POST", orders, `{"id": "a1", "delay": "1h", "input": {}}`)
	before := r.events()
	long := strings.Repeat("x", 600)
	for _, test := range []struct {
		status             int
		code, method, path string
		body               string
	}{
		// bodies
		{400, "INVALID", "POST", orders, `{"input": `},
		{400, "INVALID", "POST", orders, `{} {}`},
		{400, "INVALID", "POST", orders, `{}]`},
		{400, "INVALID", "POST", orders, `[]`},
		{400, "INVALID", "POST", orders, `"x"`},
		{400, "INVALID", "POST", orders, `{"inptu": 1}`},
		{400, "INVALID", "POST", orders, `{"version": "1"}`},
		{400, "INVALID", "POST", orders, `{"version": 1.5}`},
		{400, "INVALID", "POST", orders, `{"version": -1}`},
		{400, "INVALID", "POST", orders, `{"version": 99999999999999999999}`},
		{400, "INVALID", "POST", orders, `{"priority": 5}`},
		{400, "INVALID", "POST", orders, `{"delay": 5}`},
		{400, "INVALID", "POST", orders, `{"delay": "5"}`},
		{400, "INVALID", "POST", orders, `{"delay": "-5s"}`},
		{400, "INVALID", "POST", orders, `{"delay": "99999999d"}`},
		{400, "INVALID", "POST", orders, `{"retentionDays": -1}`},
		{400, "INVALID", "POST", orders, `{"retentionDays": 999999}`},
		{400, "INVALID", "POST", orders, `{"id": "a/b"}`},
		{400, "INVALID", "POST", orders, `{"id": "` + long + `"}`},
		{400, "INVALID", "POST", orders, `{"id": ".."}`},
		{400, "INVALID", "POST", orders, `{"idempotencyKey": "a\u0000b"}`},
		{422, "UNFIT", "POST", orders, `{"input": {"customer": 5}}`},
		{400, "INVALID", "POST", orders, "{\"id\": \"\xff\xfe\"}"},
		{400, "INVALID", "POST", orders, "{\"input\": \"\xed\xa0\x80\"}"},
		{400, "INVALID", "POST", orders, strings.Repeat("[", 3000) + strings.Repeat("]", 1000)},
		{413, "TOO_LARGE", "POST", orders, `{"input": "` + strings.Repeat("x", 5000) + `"}`},
		{400, "INVALID", "POST", "/v1/bulk/cancel", ``},
		{400, "INVALID", "POST", "/v1/bulk/cancel", `{"filter": {"status": ["gone"]}, "all": true}`},
		{400, "INVALID", "POST", "/v1/bulk/cancel", `{"filter": {"workflow": "a b"}}`},
		{400, "INVALID", "POST", "/v1/bulk/cancel", `{"all": true, "cursor": "x"}`},
		{400, "INVALID", "POST", "/v1/bulk/cancel", `{"all": true, "limit": 10001}`},
		{400, "INVALID", "POST", "/v1/bulk/signal", `{"all": true}`},
		{400, "INVALID", "POST", orders + "/a1/fork", `{"at": -1}`},
		{400, "INVALID", "POST", orders + "/a1/fork", `{"results": {"nobody": 1}}`},
		{400, "INVALID", "POST", orders + "/a1/pause", `{"why": "x"}`},
		{400, "INVALID", "POST", orders + "/a1/resume", `{"why": "x"}`},
		{400, "INVALID", "GET", orders, `{}`},
		// names
		{400, "INVALID", "POST", "/v1/workflows/a%20b/runs", `{}`},
		{400, "INVALID", "POST", "/v1/workflows/" + long + "/runs", `{}`},
		{400, "INVALID", "GET", "/v1/workflows/a%2Fb/runs", ""},
		{400, "INVALID", "POST", orders + "/a1/signals/" + long, `1`},
		{400, "INVALID", "POST", orders + "/a1/signals/%0d%0aSet-Cookie:%20a=b", `1`},
		{404, "NOT_FOUND", "GET", orders + "/" + long, ""},
		{404, "NOT_FOUND", "GET", orders + "/%2e%2e", ""},
		{404, "NOT_FOUND", "GET", orders + "/a%00b", ""},
		{404, "NOT_FOUND", "POST", "/v1/hooks/stale", `1`},
		{400, "INVALID", "POST", "/v1/hooks/%00", `1`},
		// queries
		{400, "INVALID", "GET", orders + "?stauts=running", ""},
		{400, "INVALID", "GET", orders + "?status=gone", ""},
		{400, "INVALID", "GET", orders + "?limit=0", ""},
		{400, "INVALID", "GET", orders + "?limit=1000000", ""},
		{400, "INVALID", "GET", orders + "?limit=5&limit=6", ""},
		{400, "INVALID", "GET", orders + "?cursor=../../etc/passwd", ""},
		{400, "INVALID", "GET", orders + "?since=yesterday", ""},
		{400, "INVALID", "GET", orders + "?input.=1", ""},
		{400, "INVALID", "GET", orders + "?payloads=1", ""},
		{400, "INVALID", "GET", orders + "?status=%ff", ""},
		{400, "INVALID", "GET", orders + "?a=%zz", ""},
		{400, "INVALID", "GET", orders + "/a1?wait=x", ""},
		{400, "INVALID", "GET", orders + "/a1/events?cursor=e-1", ""},
		{400, "INVALID", "GET", orders + "/a1/events?cursor=1", ""},
		{400, "INVALID", "GET", orders + "/a1/events?type=boom", ""},
		{400, "INVALID", "DELETE", orders + "/a1?force=yes", ""},
		// paths
		{404, "NO_ROUTE", "GET", "/", ""},
		{404, "NO_ROUTE", "GET", "/v1/../v1/workflows", ""},
		{404, "NO_ROUTE", "GET", "//v1/workflows", ""},
		{404, "NO_ROUTE", "GET", "/v1/workflows/", ""},
		{404, "NO_ROUTE", "GET", "/v1/workflows/order/runs/a1/../../../../etc/passwd", ""},
		{404, "NO_ROUTE", "GET", "/openapi.json/x", ""},
		{405, "METHOD_NOT_ALLOWED", "PATCH", orders, ""},
		{405, "METHOD_NOT_ALLOWED", "OPTIONS", orders, ""},
		{405, "METHOD_NOT_ALLOWED", "BREW", "/v1/workers", ""},
	} {
		a := r.refused(test.status, test.code, test.method, test.path, test.body)
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: the path became a header", test.path)
		}
	}
	for _, key := range []string{strings.Repeat("k", 513), "a\tb"} {
		r.refused(400, "INVALID", "POST", orders, `{}`, "Idempotency-Key", key)
		r.refused(400, "INVALID", "POST", orders+"/a1/signals/e", `1`, "Idempotency-Key", key)
	}
	if got := r.events(); got != before {
		t.Errorf("%d events and mail, want %d: nothing written", got, before)
	}
}

// raw sends bytes and returns the first line of the answer.
func (r *rig) raw(request string) string {
	r.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		r.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil && len(answer) == 0 {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}

// TestSlowBody: a body that does not come, or is longer than it says, holds nothing for long.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{ReadTimeout: 20 * time.Millisecond, MaxBody: 4096})
	const head = "POST " + orders + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for what, test := range map[string]struct{ request, want string }{
		"half a body":           {head + "Content-Length: 50\r\n\r\n{\"id\"", "HTTP/1.1 408 Request Timeout"},
		"chunks that stop":      {head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"", "HTTP/1.1 408 Request Timeout"},
		"too large, announced":  {head + "Content-Length: 9999999\r\n\r\n" + "[", "HTTP/1.1 413 Request Entity Too Large"},
		"too large, in chunks":  {head + "Transfer-Encoding: chunked\r\n\r\n2000\r\n" + strings.Repeat("[", 0x2000) + "\r\n", "HTTP/1.1 413 Request Entity Too Large"},
		"a body where is none":  {"GET " + orders + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\nx", "HTTP/1.1 408 Request Timeout"},
		"two lengths":           {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "HTTP/1.1 400 Bad Request"},
		"a head that is large":  {head + "X-Pad: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"a header with newline": {head + "X-A: b\nc\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 400 Bad Request"},
		"no host":               {"GET /healthz HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request: missing required Host header"},
	} {
		if got := r.raw(test.request); got != test.want {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
	if n := r.events(); n != 0 {
		t.Errorf("got %d events, want nothing written", n)
	}
	r.want(201, "POST", orders, `{"delay": "1h", "input": {}}`)
}

// FuzzRoutes sends anything to any route: the answer is below 500, and JSON, and what is refused has written nothing.
func FuzzRoutes(f *testing.F) {
	for i, rt := range routes() {
		f.Add(uint8(i), strings.TrimPrefix(pathOf(&rt), "/"), "", `{"id": "x", "filter": {"workflow": "w"}, "event": "e"}`, "")
		f.Add(uint8(i), strings.TrimPrefix(pathOf(&rt), "/"), "limit=1&cursor=e1&type=run_created", `[1`, "key")
	}
	f.Add(uint8(0), "v1/workflows/%2e%2e/runs", "input.a.b=%7B&attr.x=1", `{"input": "\ud800"}`, "\r\nX: y")
	f.Add(uint8(1), "v1/../../etc/passwd", "wait=1ms", "null", "🗝")
	for method := range uint8(4) {
		f.Add(method, strings.TrimPrefix(webhooks, "/")+"wh_fuzz/a%2fb/%00", "a=%zz&\x00=\xff", "\x00\xff{", "k")
		f.Add(method, strings.TrimPrefix(webhooks, "/")+"wh_fuzz", "", "", "")
		f.Add(method, strings.TrimPrefix(webhooks, "/")+"wh_signed", "", `{"id": "evt_1"}`, "k")
		f.Add(method, "v1/hooks/wh_signed", "", `{"id": "evt_1"}`, "k")
	}
	f.Fuzz(func(t *testing.T, method uint8, path, query, body, key string) {
		w := memory.New()
		defer func() { _ = w.Close() }()
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		secret, err := NewWebhookSecret("x", "0123456789abcdef")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(app, Options{MaxWait: time.Millisecond, Heartbeat: time.Millisecond, WebhookSecrets: []WebhookSecret{secret}})
		if err != nil {
			t.Fatal(err)
		}
		s.Drain() // nothing waits
		openWebhooks(t, w)
		if _, err := app.Start(t.Context(), "order", []byte("{}"), stepwell.RunID("no-such-run"), stepwell.Key("k")); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), []string{"GET", "POST", "DELETE", "PUT"}[method%4], "http://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path, req.URL.RawQuery, req.RequestURI = "/"+path, query, "/"+path
		if u, err := req.URL.Parse("/" + path); err == nil && u.Host == "" {
			req.URL.Path, req.URL.RawPath = u.Path, u.RawPath
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
		before := written(t, w)
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, req)
		if answer.Code >= 500 && !strings.Contains(answer.Body.String(), "NOT_READY") {
			t.Fatalf("%s /%s?%s %q: got %d %s", req.Method, path, query, body, answer.Code, answer.Body)
		}
		if strings.Contains(path, "wh_signed") && written(t, w) != before {
			t.Fatalf("%s /%s %q: an unsigned request was written", req.Method, path, body)
		}
		if answer.Code >= 400 && written(t, w) != before {
			t.Fatalf("%s /%s?%s %q: got %d, and it wrote", req.Method, path, query, body, answer.Code)
		}
		if answer.Code >= 300 && answer.Code < 400 {
			t.Fatalf("%s /%s: got a redirect, %d", req.Method, path, answer.Code)
		}
	})
}

// openWebhooks gives a world two webhooks, of a run that nobody works on; one of them wants signatures.
func openWebhooks(t *testing.T, w world.World) {
	t.Helper()
	now := world.Now()
	id := world.NewID(world.PrefixWorker, now)
	if _, err := w.Join(t.Context(), world.Worker{ID: id, Name: "opener"}); err != nil {
		t.Fatal(err)
	}
	c := &world.Commit{ID: [16]byte{1}, Run: "webhooks", Worker: id, Claim: 1, First: 1, Release: &world.Release{}}
	c.Events = []world.Event{
		{Seq: 1, Type: world.RunCreated, Time: now, Birth: &world.Birth{Workflow: "webhooks", Version: 1}}, {Seq: 2, Type: world.RunStarted, Time: now},
		{Seq: 3, Type: world.HookCreated, Time: now, ID: "hook_1", Name: "webhook", Token: "wh_fuzz", Payload: []byte(`{"$webhook": {"base": "http://x", "wait": 1000000}}`)},
		{Seq: 4, Type: world.HookCreated, Time: now, ID: "hook_2", Name: "webhook", Token: "wh_signed", Payload: []byte(`{"$webhook": {"base": "http://x", "scheme": "github", "secret": "x"}}`)},
	}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := w.Leave(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// written says how much there is in a world.
func written(t *testing.T, w world.World) string {
	t.Helper()
	stats, err := w.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(stats.Counters.Commits, stats.Counters.Deliveries, stats.Workflows)
}
