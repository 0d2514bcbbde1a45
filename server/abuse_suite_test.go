package server

// The abuse suite: every route, as everybody, with every extreme in every place, against a server that listens, on SQLite
// or on PostgreSQL: each day half of the routes on either. What is refused is refused clearly and has written nothing;
// nothing fails, and who asks beside it is answered. Routes and bodies are those of the server's own table and of
// openapi.json, so that a new one cannot be forgotten.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/openapi"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// extremes are what a place in JSON is given, whatever belongs there.
var extremes = []string{
	`""`, `null`, `true`, `{}`, `[]`, `-1`, `1e400`, `9223372036854775808`, `1.5`, `"\u0000"`, `"\u001b[31m\u202e"`, `"\ud800"`,
	`"` + strings.Repeat("x", 70_000) + `"`, `{"a":1,"a":2}`, strings.Repeat("[", 500) + strings.Repeat("]", 500),
}

// queryExtremes are what a query parameter or a part of a path is given.
var queryExtremes = []string{"", "-1", "99999999999999999999", "\x00", "\x1b[31m\u202e", "..", "a/b", "%zz", strings.Repeat("x", 5000), "{", "9999-12-31T23:59:59.999999999Z", "2147483648d"}

// who is somebody who asks.
type who struct {
	scope   Scope
	headers []string
}

func everybody() map[string]who {
	return map[string]who{
		"a stranger":  {Open, nil},
		"a wrong key": {Open, []string{"Authorization", bearer("nobody's-secret-0123456789")}},
		"a viewer":    {Viewer, []string{"Authorization", bearer(viewerSecret)}},
		"an operator": {Operator, []string{"Authorization", bearer(operatorSecret)}},
		"a worker":    {Worker, []string{"Authorization", bearer(workerSecret)}},
		"an admin":    {Admin, []string{"Authorization", bearer(adminSecret)}},
		"a web page":  {Open, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
	}
}

// abuse is one server under attack.
type abuse struct {
	*rig
	count map[int]int // answers, by status
	is    *amount     // how much there was after the last answer; nil where that may have written
}

func TestAbuse(t *testing.T) {
	on := map[string][]route{}
	for _, rt := range routes() {
		for _, kind := range sample.OneFor(t, rt.method+" "+rt.path, "sqlite", "postgres") {
			on[kind] = append(on[kind], rt)
		}
	}
	for kind, open := range map[string]func(testing.TB) world.World{"sqlite": kinds["sqlite"], "postgres": openPostgres} {
		t.Run(kind, func(t *testing.T) {
			a := &abuse{rig: newRigOn(t, open(t), Options{Keys: testKeys(t), MaxBody: 256 << 10}), count: map[int]int{}}
			a.server.Drain() // nothing waits, and no answer goes on for ever
			a.want(201, "POST", orders, `{"id": "abused", "delay": "1h", "input": {}}`, everybody()["an operator"].headers...)
			a.until("the server's worker to have joined", func() bool { return a.written().workers == 1 })
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for _, rt := range on[kind] {
				a.scopes(&rt)
				a.places(&rt)
				a.bodies(&rt)
				a.beside()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
			if log := a.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
				t.Errorf("something failed: %.2000s", log[max(0, strings.Index(log, "level=ERROR")):])
			}
			t.Logf("answers by status: %v", a.count)
		})
	}
}

func openPostgres(t testing.TB) world.World {
	t.Helper()
	w, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ask sends, and holds the answer to what every answer has to be; it reports the status and what was written.
func (a *abuse) ask(method, path, body string, headers ...string) (status int) {
	a.Helper()
	if a.is == nil {
		now := a.written()
		a.is = &now
	}
	before := *a.is
	a.is = nil
	req, err := http.NewRequestWithContext(a.Context(), method, a.base, strings.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	req.URL.Opaque = strings.TrimPrefix(a.base, "http:") + path // as it is, not cleaned
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		a.Fatalf("%s %.200s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatalf("%s %.200s: %v", method, path, err)
	}
	a.count[resp.StatusCode]++
	at := fmt.Sprintf("%s %.150s %.200s %.80q", method, path, body, headers)
	if resp.StatusCode < 400 {
		return resp.StatusCode
	}
	var p Problem
	media := resp.Header.Get("Content-Type")
	switch {
	case resp.StatusCode == 400 && media == "text/plain; charset=utf-8": // of net/http, which could not read the head
	case method == http.MethodHead:
	case media != "application/problem+json" || json.Unmarshal(answer, &p) != nil || p.Status != resp.StatusCode || p.Code == "" || p.Title == "":
		a.Errorf("%s: %d with %q is no problem document", at, resp.StatusCode, answer)
	case resp.StatusCode >= 500 && p.Code != "NOT_READY" && p.Code != "SHUTTING_DOWN":
		a.Errorf("%s: got %d %s", at, resp.StatusCode, answer)
	case strings.ContainsFunc(p.Detail, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x1b || r == 0x202e }):
		a.Errorf("%s: the detail steers a terminal: %q", at, p.Detail)
	case len(answer) > 4096:
		a.Errorf("%s: a problem of %d bytes", at, len(answer))
	}
	now := a.written()
	a.is = &now
	if now.workers < before.workers {
		before.workers = now.workers // one whose lease was over is buried, whoever asks
	}
	if now != before {
		a.Errorf("%s: got %d, and it wrote: %+v, then %+v", at, resp.StatusCode, before, now)
	}
	return resp.StatusCode
}

// amount is how much there is.
type amount struct {
	deliveries    int64
	runs, workers int
}

func (a *abuse) written() amount {
	a.Helper()
	stats, err := a.world.Stats(a.Context())
	if err != nil {
		a.Fatal(err)
	}
	runs := 0
	for _, n := range stats.Workflows {
		runs += n.Pending + n.Running + n.Completed + n.Failed + n.Cancelled
	}
	return amount{stats.Counters.Deliveries, runs, len(stats.Workers)}
}

func methodOf(rt *route) string {
	if rt.method == anyMethod {
		return http.MethodPost
	}
	return rt.method
}

// scopes: who may not is refused as that, and who may is not.
func (a *abuse) scopes(rt *route) {
	body := ""
	if rt.op.body != "" {
		body = `{"no such field": 1}`
	}
	for name, is := range everybody() {
		status := a.ask(methodOf(rt), pathOf(rt), body, is.headers...)
		refused := status == 401 || status == 403 && !(name == "a web page" && is.scope.covers(rt.scope))
		if allowed := is.scope.covers(rt.scope); allowed == refused {
			a.Errorf("%s as %s: got %d, allowed is %t", rt.op.id, name, status, allowed)
		}
	}
	for _, method := range []string{"TRACE", "BREW", "OPTIONS", "PATCH", "PUT"} {
		a.ask(method, pathOf(rt), "", everybody()["an admin"].headers...)
	}
}

// places puts each extreme into each part of the path, and each parameter of the query, known and not.
func (a *abuse) places(rt *route) {
	may := everybody()["an admin"].headers
	names := []string{"no.such"}
	for _, p := range rt.op.query {
		names = append(names, strings.TrimSuffix(p.name, ".")+map[bool]string{true: ".a"}[strings.HasSuffix(p.name, ".")])
	}
	for _, x := range queryExtremes {
		for _, name := range names {
			a.ask(methodOf(rt), pathOf(rt)+"?"+url.QueryEscape(name)+"="+url.QueryEscape(x), "", may...)
		}
		path := rt.path
		for strings.Contains(path, "{") {
			from, to := strings.Index(path, "{"), strings.Index(path, "}")
			path = path[:from] + url.PathEscape(x) + path[to+1:]
		}
		if path != rt.path {
			a.ask(methodOf(rt), path, "", may...)
		}
		if rt.op.key != "" && !strings.ContainsAny(x, "\x00\x1b") {
			a.ask(methodOf(rt), pathOf(rt), `{}`, append([]string{"Idempotency-Key", x}, may...)...)
		}
	}
}

// bodies gives each member of the body each extreme, each twice, each in other letters, and none.
func (a *abuse) bodies(rt *route) {
	may := everybody()["an admin"].headers
	for _, body := range []string{"", "{", "[]", "null", `"x"`, "{} {}", "\xff", strings.Repeat("x", 300<<10)} {
		a.ask(methodOf(rt), pathOf(rt), body, may...)
	}
	schema := a.doc.Components.Schemas[rt.op.body]
	if schema == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		for _, x := range extremes {
			a.ask(methodOf(rt), pathOf(rt), a.filled(schema, name, x), may...)
		}
		for _, twice := range []string{fmt.Sprintf(`{%q: null, %q: null}`, name, name), fmt.Sprintf(`{%q: null}`, strings.ToUpper(name))} {
			if status := a.ask(methodOf(rt), pathOf(rt), twice, may...); status != 400 && name != strings.ToUpper(name) && rt.op.body != "Payload" {
				a.Errorf("%s: %s: got %d, want 400", rt.op.id, twice, status)
			}
		}
	}
}

// filled is a body that has what is required, and an extreme.
func (a *abuse) filled(s *openapi.Schema, name, x string) string {
	parts := []string{fmt.Sprintf("%q: %s", name, x)}
	for _, other := range s.Required {
		if other == name {
			continue
		}
		value := `"x"`
		if p := s.Properties[other]; p != nil {
			switch p.Resolve().Type {
			case "integer", "number":
				value = "1"
			case "boolean":
				value = "true"
			case "array":
				value = "[]"
			case "object":
				value = "{}"
			}
		}
		parts = append(parts, fmt.Sprintf("%q: %s", other, value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// beside: what others ask meanwhile is answered, and lists read to their end.
func (a *abuse) beside() {
	a.Helper()
	viewer := everybody()["a viewer"].headers
	a.want(200, "GET", "/healthz", "")
	a.want(200, "GET", orders+"/abused", "", viewer...)
	for cursor := ""; ; {
		page := a.want(200, "GET", "/v1/runs?payloads=true&cursor="+cursor, "", viewer...)
		if len(page.body) > 4<<20 {
			a.Errorf("a page of %d bytes", len(page.body))
		}
		next, _ := page.get("cursor").(string)
		if cursor = next; cursor == "" {
			return
		}
	}
}
