package server

// What a flow accepts, and what it refuses with nothing taken.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

// The example of Standard Webhooks: other languages' libraries make the same signature.
func TestSignatureOfStandardWebhooks(t *testing.T) {
	got := base64.StdEncoding.EncodeToString(testSecrets[0].sum("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)))
	if want := "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// flowRig is a flow with a run that is ready.
type flowRig struct {
	*testing.T
	world world.World
	flow  *Flow
	run   string
	body  string // the message for it
	log   *lines
}

func newFlowRig(t *testing.T, kind string, o FlowOptions) *flowRig {
	t.Helper()
	r := &flowRig{T: t, world: openWorld(t, kind), log: &lines{}}
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{tens}})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = r.log.logger()
	if r.flow, err = NewFlow(app, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.flow.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	client, err := stepwell.New(r.world, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := client.Start(t.Context(), "tens", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	r.run = run.ID()
	r.body = fmt.Sprintf(`{"runId":%q}`, r.run)
	return r
}

// post sends a message, as with makes it of one that is as it should be.
func (r *flowRig) post(body string, with func(*http.Request)) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", FlowPath, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	sign(req.Header, testSecrets, []byte(body), time.Now())
	if with != nil {
		with(req)
	}
	w := httptest.NewRecorder()
	r.flow.ServeHTTP(w, req)
	return w
}

// untouched checks that nobody has taken the run, and that no worker was there.
func (r *flowRig) untouched(why string) {
	r.Helper()
	row, err := r.world.Run(r.Context(), r.run)
	if err != nil {
		r.Fatal(err)
	}
	stats, err := r.world.Stats(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if row.Status != world.Pending || row.Claims != 0 || len(stats.Workers) != 0 {
		r.Fatalf("%s: the run is %s after %d claims, and there are %d workers", why, row.Status, row.Claims, len(stats.Workers))
	}
}

func TestFlowRefuses(t *testing.T) {
	signedAt := func(at time.Time) func(*http.Request) {
		return func(r *http.Request) { sign(r.Header, testSecrets, nil, at) }
	}
	cases := []struct {
		name   string
		body   string // "": the right one
		with   func(*http.Request)
		status int
		code   string
	}{
		{"no signature", "", func(r *http.Request) { r.Header.Del(headerSignature) }, 401, "BAD_SIGNATURE"},
		{"no headers at all", "", func(r *http.Request) { r.Header = http.Header{"Content-Type": {"application/json"}} }, 401, "BAD_SIGNATURE"},
		{"another's secret", "", func(r *http.Request) { sign(r.Header, mustSecrets("another-secret-of-24-bytes"), nil, time.Now()) }, 401, "BAD_SIGNATURE"},
		{"another body", `{"runId":"wrun_2"}`, func(r *http.Request) { sign(r.Header, testSecrets, []byte(`{"runId":"wrun_1"}`), time.Now()) }, 401, "BAD_SIGNATURE"},
		{"another ID", "", func(r *http.Request) { r.Header.Set(headerID, "msg_2") }, 401, "BAD_SIGNATURE"},
		{"another time", "", func(r *http.Request) { r.Header.Set(headerTimestamp, fmt.Sprint(time.Now().Unix()+1)) }, 401, "BAD_SIGNATURE"},
		{"a time that is none", "", func(r *http.Request) { r.Header.Set(headerTimestamp, "yesterday") }, 401, "BAD_SIGNATURE"},
		{"a negative time", "", func(r *http.Request) { r.Header.Set(headerTimestamp, "-1") }, 401, "BAD_SIGNATURE"},
		{"two IDs", "", func(r *http.Request) { r.Header.Add(headerID, "msg_2") }, 401, "BAD_SIGNATURE"},
		{"a long ID", "", func(r *http.Request) { r.Header.Set(headerID, strings.Repeat("m", 300)) }, 401, "BAD_SIGNATURE"},
		{"another scheme", "", func(r *http.Request) {
			r.Header.Set(headerSignature, strings.Replace(r.Header.Get(headerSignature), "v1,", "v2,", 1))
		}, 401, "BAD_SIGNATURE"},
		{"half a signature", "", func(r *http.Request) { r.Header.Set(headerSignature, r.Header.Get(headerSignature)[:20]) }, 401, "BAD_SIGNATURE"},
		{"six minutes old", "old", signedAt(time.Now().Add(-6 * time.Minute)), 401, "STALE"},
		{"six minutes early", "old", signedAt(time.Now().Add(6 * time.Minute)), 401, "STALE"},
		{"no body", " ", nil, 400, "INVALID"},
		{"no JSON", "runId", nil, 400, "INVALID"},
		{"no object", "[]", nil, 400, "INVALID"},
		{"another type", `{"runId":7}`, nil, 400, "INVALID"},
		{"no run", `{}`, nil, 400, "INVALID"},
		{"no name of a run", `{"runId":"../etc"}`, nil, 400, "INVALID"},
		{"a long step", `{"runId":"wrun_1","stepId":"` + strings.Repeat("s", 300) + `"}`, nil, 400, "INVALID"},
		{"too large", `{"runId":"` + strings.Repeat("r", 20<<10) + `"}`, nil, 413, "TOO_LARGE"},
		{"too large, of unknown length", `{"runId":"` + strings.Repeat("r", 20<<10) + `"}`, func(r *http.Request) { r.ContentLength = -1 }, 413, "TOO_LARGE"},
		{"another media type", "", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"another method", "", func(r *http.Request) { r.Method = "PUT" }, 405, "METHOD_NOT_ALLOWED"},
		{"another path", "", func(r *http.Request) { r.URL.Path = "/.well-known/workflow/v1/flows" }, 404, "NO_ROUTE"},
		{"the manifest, without a signature", "", func(r *http.Request) { r.Method, r.URL.Path, r.Header = "GET", ManifestPath, http.Header{} }, 401, "BAD_SIGNATURE"},
		{"the manifest, by another method", "", func(r *http.Request) { r.Method, r.URL.Path = "POST", ManifestPath }, 405, "METHOD_NOT_ALLOWED"},
	}
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			r := newFlowRig(t, kind, FlowOptions{Secrets: testSecrets})
			for _, c := range cases {
				body := c.body
				switch body {
				case "":
					body = r.body
				case "old": // signed as it is, at another time
					body = ""
				}
				w := r.post(body, c.with)
				if got := w.Header().Get("Content-Type"); w.Code != c.status || !strings.Contains(w.Body.String(), `"code":"`+c.code+`"`) || got != "application/problem+json" {
					t.Errorf("%s: got %d, %s: %s; want %d, %s", c.name, w.Code, got, w.Body, c.status, c.code)
				}
				r.untouched(c.name)
			}
			for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", r.run} {
				if strings.Contains(r.log.String(), secret) {
					t.Errorf("the log has %s:\n%s", secret, r.log)
				}
			}
			if got := strings.Count(r.log.String(), "message refused"); got != len(cases) {
				t.Errorf("%d lines of refused messages, want %d", got, len(cases))
			}
			if w := r.post(r.body, nil); w.Code != 200 || !strings.Contains(w.Body.String(), `"outcome":"done"`) {
				t.Errorf("the message as it should be: got %d: %s", w.Code, w.Body)
			}
		})
	}
}

// A message is accepted once, whatever came of it; under a new ID it is another one.
func TestFlowRefusesReplays(t *testing.T) {
	r := newFlowRig(t, "memory", FlowOptions{Secrets: testSecrets})
	var headers http.Header
	other := `{"runId":"wrun_unknown"}`
	if w := r.post(other, func(req *http.Request) { headers = req.Header.Clone() }); w.Code != 404 || !strings.Contains(w.Body.String(), "NOT_FOUND") {
		t.Fatalf("a message for an unknown run: got %d: %s", w.Code, w.Body)
	}
	for range 2 {
		if w := r.post(other, func(req *http.Request) { req.Header = headers.Clone() }); w.Code != 409 || !strings.Contains(w.Body.String(), "REPLAYED") {
			t.Fatalf("a replay: got %d: %s", w.Code, w.Body)
		}
	}
	if w := r.post(r.body, nil); w.Code != 200 {
		t.Fatalf("the next message: got %d: %s", w.Code, w.Body)
	}
}

// Secrets are changed one side after the other.
func TestFlowSecretsRotate(t *testing.T) {
	before, after := mustSecrets("the-secret-before-this"), mustSecrets("the-secret-after-that")
	both := append(before[:1:1], after...)
	for _, c := range []struct {
		name             string
		sender, receiver []PushSecret
		status           int
	}{
		{"before", before, before, 200},
		{"the taker has both", before, both, 200},
		{"the sender has both, the taker the old one", both, before, 200},
		{"the sender has both, the taker the new one", both, after, 200},
		{"the taker has only the new one", before, after, 401},
	} {
		r := newFlowRig(t, "memory", FlowOptions{Secrets: c.receiver})
		if w := r.post(r.body, func(req *http.Request) { sign(req.Header, c.sender, []byte(r.body), time.Now()) }); w.Code != c.status {
			t.Errorf("%s: got %d, want %d: %s", c.name, w.Code, c.status, w.Body)
		}
	}
}

// What is remembered of messages is bounded; what was forgotten early is stale, not new.
func TestSeenMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifier(testSecrets, time.Minute)
		v.most = 100
		at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
		for i := range 1000 {
			if err := v.first(fmt.Sprint("a", i), at(0)); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			time.Sleep(100 * time.Millisecond) //lint:allow virtual time
		}
		if len(v.seen) > 100 || len(v.line) > 100 {
			t.Errorf("%d and %d are remembered, want 100 at most", len(v.seen), len(v.line))
		}
		for i := range 1000 {
			old := at(-time.Duration(1000-i) * 100 * time.Millisecond)
			if err := v.first(fmt.Sprint("a", i), old); !errors.Is(err, errStale) && !errors.Is(err, errReplayed) {
				t.Fatalf("message %d again: %v, want it refused", i, err)
			}
		}
		time.Sleep(3 * time.Minute) //lint:allow virtual time
		if err := v.first("b", at(0)); err != nil || len(v.seen) != 1 {
			t.Errorf("after the window: %v, %d are remembered, want 1", err, len(v.seen))
		}
	})
}

func TestPushSecrets(t *testing.T) {
	got, err := ParsePushSecrets("# of the shop\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, sixteen-or-more-characters\n")
	if err != nil || len(got) != 2 {
		t.Fatalf("got %d, %v; want 2", len(got), err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, got); strings.Contains(text, "sixteen") || strings.Contains(text, "115") {
			t.Errorf("%s shows a secret: %s", verb, text)
		}
	}
	for _, text := range []string{"short", "whsec_c2hvcnQ=", "whsec_none!", strings.Repeat("sixteen-or-more-characters ", 9)} {
		if _, err := ParsePushSecrets(text); !errors.Is(err, world.ErrInvalid) || strings.Contains(err.Error(), "short") {
			t.Errorf("%q: %v, want ErrInvalid, without the secret", text, err)
		}
	}
}

func TestFlowOptions(t *testing.T) {
	app, err := stepwell.New(openWorld(t, "memory"), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]FlowOptions{
		"no secret":       {},
		"an empty secret": {Secrets: make([]PushSecret, 1)},
		"a short slice":   {Secrets: testSecrets, Slice: time.Millisecond},
		"a window":        {Secrets: testSecrets, Window: -1},
		"a body":          {Secrets: testSecrets, MaxBody: -1},
		"a time":          {Secrets: testSecrets, ReadTimeout: -1},
	} {
		if _, err := NewFlow(app, o); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%s: NewFlow = %v, want ErrInvalid", name, err)
		}
	}
	if _, err := NewFlow(nil, FlowOptions{Insecure: true}); !errors.Is(err, world.ErrInvalid) {
		t.Errorf("no App: NewFlow = %v, want ErrInvalid", err)
	}
	if f, err := NewFlow(app, FlowOptions{Insecure: true}); err != nil || f.opts.Slice != push.DefaultSlice {
		t.Errorf("Insecure: %v", err)
	}
}

// __health answers anybody, and says what /healthz of a server does; a closed flow refuses messages.
func TestFlowHealthAndClose(t *testing.T) {
	r := newFlowRig(t, "memory", FlowOptions{Secrets: testSecrets, Version: "v9"})
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		r.flow.ServeHTTP(w, httptest.NewRequest(method, FlowPath+"?__health", nil))
		want := `{"healthy":true,"endpoint":"` + FlowPath + `","specVersion":1,"workflowCoreVersion":"v9"}`
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != want {
			t.Errorf("%s: got %d: %s; want %s", method, w.Code, got, want)
		}
	}
	for range 2 {
		if err := r.flow.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if w := r.post(r.body, nil); w.Code != 503 || !strings.Contains(w.Body.String(), "SHUTTING_DOWN") {
		t.Errorf("a message after Close: got %d: %s", w.Code, w.Body)
	}
	r.untouched("closed")
}
