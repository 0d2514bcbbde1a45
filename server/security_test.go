package server

// Who may come in: every route with every scope, hosts, origins, tokens, and what a log must not have.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

const (
	viewerSecret   = "viewer-secret-0123456789"
	operatorSecret = "operator-secret-0123456789"
	workerSecret   = "worker-secret-0123456789"
	adminSecret    = "admin-secret-0123456789"
)

func testKeys(t *testing.T) []Key {
	t.Helper()
	hash := sha256.Sum256([]byte(adminSecret))
	keys, err := ParseKeys("# who may\nviewer:vic:" + viewerSecret + ", operator:olga:" + operatorSecret + " worker:wim:" + workerSecret + "\nadmin:ann:sha256=" + hex.EncodeToString(hash[:]))
	if err != nil || len(keys) != 4 {
		t.Fatalf("got %d keys, %v", len(keys), err)
	}
	return keys
}

func bearer(secret string) string { return "Bearer " + secret }

// pathOf fills in a route's path.
func pathOf(rt *route) string {
	return strings.NewReplacer("{workflow}", "order", "{run}", "no-such-run", "{event}", "e", "{token}", "no-such-token", "{path...}", "a/b", "{act}", "cancel").Replace(rt.path)
}

// TestScopes: no route lets in who may not, and none keeps out who may.
func TestScopes(t *testing.T) {
	t.Parallel()
	steps, err := ParseKeys("steps?step=resize:py:" + stepsSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{Keys: append(testKeys(t), steps...)})
	r.server.Drain() // nothing waits, and no answer goes on for ever
	for _, rt := range routes() {
		if rt.raw {
			continue // what such a route takes, its own tests say
		}
		body := ""
		if rt.op.body != "" {
			body = `{"no such field": 1}`
		}
		for secret, scope := range map[string]Scope{"": Open, "nobody's-secret-0123456789": Open, viewerSecret: Viewer, operatorSecret: Operator, workerSecret: Worker, adminSecret: Admin, stepsSecret: Steps} {
			headers := []string{"Authorization", bearer(secret)}
			if secret == "" {
				headers = nil
			}
			a := r.send(rt.method, pathOf(&rt), body, headers...)
			want := a.status != 401 && a.status != 403
			if allowed := scope.covers(rt.scope); allowed != want {
				t.Errorf("%s with scope %s: got %d, allowed is %v", rt.op.id, scope, a.status, allowed)
			}
			if a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: 401 without WWW-Authenticate", rt.op.id)
			}
		}
	}
	r.refused(401, "UNAUTHENTICATED", "GET", "/v1/workflows", "", "Authorization", "Basic "+adminSecret)
	r.refused(401, "UNAUTHENTICATED", "GET", "/v1/workflows", "", "Authorization", bearer(viewerSecret[:len(viewerSecret)-1]))
	if n := r.events(); n != 0 {
		t.Errorf("got %d events, want nothing written", n)
	}
}

// TestSecrets: a viewer sees no hook token anywhere, the audit log has who did what to which run, and no log has a secret.
func TestSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	operator, viewer, admin := []string{"Authorization", bearer(operatorSecret)}, []string{"Authorization", bearer(viewerSecret)}, []string{"Authorization", bearer(adminSecret)}
	r.want(201, "POST", orders, `{"id": "t1", "input": {"customer": "gus-secret", "cents": 5}}`, operator...)
	const token = "courier/gus-secret"
	r.until("the hook", func() bool { return r.send("GET", "/v1/hooks?token="+token, "", operator...).get("0.run") == "t1" })
	r.until("the event to be waited for", func() bool { return r.send("GET", orders+"/t1/why", "", viewer...).get("kind") == "event" })
	if a := r.want(200, "GET", orders+"/t1/why", "", viewer...); strings.Contains(string(a.body), token) { // the hook is open beside
		t.Errorf("why: a viewer sees the token: %s", a.body)
	}
	if a := r.want(200, "GET", orders+"/t1/why", "", operator...); !strings.Contains(string(a.body), token) {
		t.Errorf("why: an operator does not see the token: %s", a.body)
	}
	r.want(202, "POST", orders+"/t1/signals/paid%2Fin%20full", `{}`, operator...)
	r.until("the sleep", func() bool { return r.send("GET", orders+"/t1/why", "", viewer...).get("kind") == "sleep" })
	r.want(202, "POST", orders+"/t1/wake", "", operator...)
	r.until("the hook to be waited for", func() bool { return r.send("GET", orders+"/t1/why", "", viewer...).get("kind") == "hook" })
	for _, path := range []string{"/steps?payloads=false", "/events?type=hook_created", "/why"} {
		if a := r.want(200, "GET", orders+"/t1"+path, "", viewer...); strings.Contains(string(a.body), token) {
			t.Errorf("%s: a viewer sees the token: %s", path, a.body)
		}
		if a := r.want(200, "GET", orders+"/t1"+path, "", operator...); !strings.Contains(string(a.body), token) {
			t.Errorf("%s: an operator does not see the token: %s", path, a.body)
		}
	}
	birth, err := r.world.Events(t.Context(), "t1", world.EventQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	seed := fmt.Sprint(birth.Events[0].Birth.Seed)
	for _, ask := range [][3]string{{"GET", orders + "/t1/events", ""}, {"GET", orders + "/t1", ""}, {"POST", inWorld + "events", `{"run": "t1"}`}, {"POST", inWorld + "run", `{"run": "t1"}`}} {
		if a := r.want(200, ask[0], ask[1], ask[2], viewer...); strings.Contains(string(a.body), seed) || strings.Contains(string(a.body), token) {
			t.Errorf("%s: a viewer sees the seed, or the token: %s", ask[1], a.body)
		}
	}
	if a := r.want(200, "GET", orders+"/t1/events", "", operator...); !strings.Contains(string(a.body), seed) {
		t.Errorf("an operator, who can export, does not see the seed: %s", a.body)
	}
	first := r.follow(orders+"/t1/events?type=run_created", viewer...)
	if m, ok := first.next(); !ok || strings.Contains(m.data, seed) {
		t.Errorf("following: got %v, want run_created without its seed", m)
	}
	first.close()
	s := r.follow(orders+"/t1/events?type=hook_created", viewer...)
	if m, ok := s.next(); !ok || strings.Contains(m.data, token) {
		t.Errorf("following: got %v, want hook_created without its token", m)
	}
	s.close()
	r.want(202, "POST", orders+"/t1/pause", `{"reason": "r"}`, operator...)
	if why := r.want(200, "GET", orders+"/t1/why", "", viewer...); why.get("by") != "olga" {
		t.Errorf("why: got %s, want paused by olga", why.body)
	}
	r.refused(403, "FORBIDDEN", "DELETE", orders+"/t1?force=true", "", operator...)
	r.want(202, "DELETE", orders+"/t1?force=true&reason=it+is+stuck", "", admin...)
	r.want(201, "POST", orders+"/t1/restart", `{"id": "t1-again"}`, operator...)
	r.want(200, "POST", "/v1/bulk/cancel", `{"filter": {"key": "gus-1"}, "dryRun": true, "reason": "twice"}`, admin...)
	r.want(200, "POST", "/v1/workflows/order/hold", `{"note": "the bank is away"}`, operator...)
	log := r.log.String()
	for _, want := range []string{
		`msg=audit who=olga what=pauseRun from=127.0.0.1:`, `run_id=t1`, `who=olga what=cancelRun`, `refused=FORBIDDEN`, `who=ann what=cancelRun`,
		`workflow.name=order reason=r`, `workflow.name=order reason="it is stuck"`, `new_run=t1-again`, `dry_run=true runs_done=0 runs_refused=0`, `reason=twice`, `reason="the bank is away"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %q:\n%s", want, log)
		}
	}
	for _, secret := range []string{viewerSecret, operatorSecret, adminSecret, token} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has the secret %q:\n%s", secret, log)
		}
	}
	if got := fmt.Sprintf("%v %+v", r.server.opts.Keys[0], r.server.opts.Keys[0]); strings.Contains(got, viewerSecret) {
		t.Errorf("a printed key shows its secret: %s", got)
	}
}

// TestCurl: a body that is said to be a form, or nothing, is JSON where a key is in the header and nothing is there that a browser adds.
func TestCurl(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	const start, form = `{"delay": "1h", "input": {}}`, "application/x-www-form-urlencoded"
	for i, headers := range [][]string{
		{"Origin", r.base}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Mode", "cors"}, {"Cookie", "a=b"}, {"Referer", r.base + "/ui/"},
		{"Content-Type", form + "; charset=utf-8"}, {"Content-Type", "text/plain"}, {"Content-Type", "multipart/form-data"},
	} {
		all := append([]string{"Authorization", bearer(operatorSecret), "Content-Type", form}, headers...)
		if a := r.refused(415, "UNSUPPORTED_MEDIA_TYPE", "POST", orders, start, all...); a.status != 415 {
			t.Errorf("%d: %v", i, headers)
		}
	}
	r.refused(401, "UNAUTHENTICATED", "POST", orders, start, "Content-Type", form)
	if n := r.events(); n != 0 {
		t.Errorf("got %d events, want nothing written", n)
	}
	a := r.want(201, "POST", orders, start, "Authorization", bearer(operatorSecret), "Content-Type", form)
	r.want(202, "POST", "/v1/runs/"+a.get("id").(string)+"/signals/paid", `{"cents": 1}`, "Authorization", bearer(operatorSecret), "Content-Type", form)
	r.refused(400, "INVALID", "POST", orders, "input=1", "Authorization", bearer(operatorSecret), "Content-Type", form)
}

// TestCurlWithoutKeys: where nobody needs a key, the name of curl stands for one: no page can send it.
func TestCurlWithoutKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	const start, form = `{"delay": "1h", "input": {}}`, "application/x-www-form-urlencoded"
	for _, headers := range [][]string{
		{"Origin", r.base}, {"Origin", "null"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Dest", "document"}, {"Sec-Fetch-User", "?1"},
		{"Cookie", "a=b"}, {"Referer", r.base + "/ui/"}, {"Content-Type", form + "; charset=utf-8"}, {"Content-Type", "text/plain"},
		{"Content-Type", "multipart/form-data"}, {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) curl/8.0"}, {"User-Agent", "NCSA_Mosaic/2.0"}, {"User-Agent", ""},
	} {
		a := r.send("POST", orders, start, append([]string{"User-Agent", "curl/8.14.1", "Content-Type", form}, headers...)...)
		if code := a.get("code"); code != "UNSUPPORTED_MEDIA_TYPE" && code != "CROSS_ORIGIN" {
			t.Errorf("%v: got %d %v, want it refused", headers, a.status, code)
		}
	}
	if n := r.events(); n != 0 {
		t.Errorf("got %d events, want nothing written", n)
	}
	a := r.want(201, "POST", orders, start, "User-Agent", "curl/8.14.1", "Content-Type", form)
	r.want(202, "POST", "/v1/runs/"+a.get("id").(string)+"/signals/paid", `{"cents": 1}`, "User-Agent", "Wget/1.25.0", "Content-Type", form)
	r.refused(400, "INVALID", "POST", orders, "input=1", "User-Agent", "curl/8.14.1", "Content-Type", form)
}

// TestBrowsers: pages of other origins, and names that were bound to this address, are kept out; answers say how they may be used.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	const start = `{"id": "b1", "delay": "1h", "input": {}}`
	r.refused(403, "CROSS_ORIGIN", "POST", orders, start, "Origin", "https://evil.example")
	r.refused(403, "CROSS_ORIGIN", "POST", orders, start, "Sec-Fetch-Site", "cross-site")
	r.refused(421, "MISDIRECTED", "POST", orders, start, "Host", "evil.example:7373", "Origin", "http://evil.example:7373")
	r.refused(421, "MISDIRECTED", "GET", "/v1/runs", "", "Host", "evil.example")
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/json/x"} {
		r.refused(415, "UNSUPPORTED_MEDIA_TYPE", "POST", orders, start, "Content-Type", media)
	}
	if n := r.events(); n != 0 {
		t.Errorf("got %d events, want nothing written", n)
	}
	r.want(201, "POST", orders, start, "Origin", r.base, "Host", "localhost:1", "Sec-Fetch-Site", "same-origin")
	a := r.want(200, "GET", "/v1/runs", "")
	for name, want := range securityHeaders {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("Access-Control-Allow-Origin: got %q, want none", got)
	}
}

// TestKeys: keys that make no sense are refused, and nothing of their secrets is told.
func TestKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ann":                                  "scope:name:secret",
		"root:ann:0123456789abcdef":            "viewer, operator, worker, admin and steps",
		"admin:ops:CHANGE-ME-CHANGE-ME":        "placeholder",
		"admin:ops:please_change.me.0123":      "placeholder",
		"admin:ops:sha256=" + hexOf(published): "placeholder",
		"open:ann:0123456789abcdef":            "viewer, operator, worker, admin and steps",
		"admin:a/n:0123456789abcdef":           "name",
		"admin:ann:0123456789abcde":            "15 characters",
		"admin:ann:0123456789abcdef\x01":       "header",
		"admin:ann:sha256=0123":                "64 hexadecimal",
		"x\n\nsecret0123456789:admin:ann":      "line 3",
	} {
		_, err := ParseKeys(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error about %q", text, err, want)
			continue
		}
		if strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%q: the error shows a secret: %v", text, err)
		}
	}
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for what, keys := range map[string][]Key{"the zero key": {{Name: "n", Scope: Admin}}, "one secret twice": append(testKeys(t), testKeys(t)[0])} {
		if _, err := New(app, Options{Keys: keys, MaxBody: -1}); err == nil || !strings.Contains(err.Error(), "MaxBody") {
			t.Errorf("%s: got %v, want an error that names all faults", what, err)
		}
	}
}

// TestListen: a public address needs keys.
func TestListen(t *testing.T) {
	t.Parallel()
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for address, public := range map[string]bool{":0": true, "0.0.0.0:0": true, "[::]:0": true, "example.com:80": true, "127.0.0.1:0": false, "localhost:0": false} {
		for _, o := range []Options{{}, {Keys: testKeys(t)}, {Insecure: true}} {
			if strings.HasPrefix(address, "example") && (o.Insecure || len(o.Keys) > 0) {
				continue // it would look the name up
			}
			s, err := New(app, o)
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Listen(context.Background(), address)
			if refused := err != nil; refused != (public && len(o.Keys) == 0 && !o.Insecure) {
				t.Errorf("%s with %d keys, insecure %v: got %v", address, len(o.Keys), o.Insecure, err)
			}
			if l != nil {
				_ = l.Close()
			}
		}
	}
	s, err := New(app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen(context.Background(), "127.0.0.1"); err == nil {
		t.Error("an address without a port: got none, want an error")
	}
}

func hexOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}
