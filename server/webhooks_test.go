package server

// Webhooks: what a request becomes, what its sender is answered, and what is refused with nothing written.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// hookSpec is the input of desk: what its webhook is.
type hookSpec struct {
	Token    string            `json:"token"`
	Static   *webhook.Response `json:"static"`
	Wait     time.Duration     `json:"wait"`
	Scheme   webhook.Scheme    `json:"scheme"`
	Secret   string            `json:"secret"`
	Silent   int               `json:"silent"`   // so many requests are not answered
	Requests int               `json:"requests"` // how many there are
}

// desk receives requests, and answers each with itself as JSON.
var desk = stepwell.Define("desk", func(ctx stepwell.Context, in hookSpec) ([]webhook.Request, error) {
	opts := []webhook.Option{webhook.Token(in.Token), webhook.Metadata(map[string]string{"for": "you"})}
	if in.Static != nil {
		opts = append(opts, webhook.RespondWith(*in.Static))
	}
	if in.Wait > 0 {
		opts = append(opts, webhook.RespondManually(in.Wait))
	}
	if in.Scheme != "" {
		opts = append(opts, webhook.Signed(in.Scheme, in.Secret))
	}
	hook, err := webhook.New(ctx, opts...)
	if err != nil {
		return nil, err
	}
	var all []webhook.Request
	for req, err := range hook.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, req)
		if in.Wait > 0 && len(all) > in.Silent {
			body, err := json.Marshal(req)
			if err != nil {
				return nil, err
			}
			res := webhook.Response{Status: 207, Header: map[string]string{"Content-Type": "application/json", "X-Answer": "yes"}, Body: body}
			if err := req.Respond(ctx, res); err != nil {
				return nil, err
			}
		}
		if len(all) == in.Requests {
			break
		}
	}
	return all, nil
})

const webhooks = "/.well-known/workflow/v1/webhook/"

// opens starts a run of desk and waits for its webhook.
func (r *rig) opens(in hookSpec) (url string) {
	r.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.server.app.Start(r.Context(), "desk", input, stepwell.RunID(in.Token)); err != nil {
		r.Fatal(err)
	}
	r.until("webhook "+in.Token, func() bool { _, err := webhook.Find(r.Context(), r.server.app, "wh_"+in.Token); return err == nil })
	return webhooks + "wh_" + in.Token
}

// received is what a run of desk has received.
func (r *rig) received(run string) []webhook.Request {
	r.Helper()
	got, err := desk.Get(r.server.app, run).Result(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// hit sends a request and returns the answer as it is.
func (r *rig) hit(ctx context.Context, method, path string, body io.Reader, headers ...string) (*reply, error) {
	r.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, body)
	if err != nil {
		r.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // follows no redirects
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(resp.Body)
	return &reply{resp.StatusCode, resp.Header, b}, err
}

func (r *rig) hits(method, path, body string, headers ...string) *reply {
	r.Helper()
	a, err := r.hit(r.Context(), method, path, strings.NewReader(body), headers...)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// TestWebhookRequest: what was sent is what is received, and comes back as the workflow's answer; credentials stay out of the log.
func TestWebhookRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{Keys: testKeys(t)})
			at := r.opens(hookSpec{Token: "echo", Wait: time.Minute, Requests: 2})
			if a := r.hits("HEAD", at, ""); a.status != 200 || len(a.body) != 0 {
				t.Errorf("HEAD: %d %s", a.status, a.body)
			}
			if a := r.hits("HEAD", at+"x", ""); a.status != 404 {
				t.Errorf("HEAD of a webhook that is not there: %d", a.status)
			}
			if a := r.hits("OPTIONS", at, ""); a.status != 204 || !strings.Contains(a.header.Get("Allow"), "PATCH") {
				t.Errorf("OPTIONS: %d, %v", a.status, a.header)
			}
			body := "\x00\xff binary"
			a := r.hits("PATCH", at+"/orders/a%2Fb?x=1&x=%20", body, "X-Thing", "ünï", "X-Thing-2", "b", "Authorization", "Bearer hush", "Cookie", "s=hush",
				"X-Gitlab-Token", "hush", "Host", "hooks.example.com", "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site")
			var echo webhook.Request
			if err := json.Unmarshal(a.body, &echo); err != nil || a.status != 207 || a.header.Get("X-Answer") != "yes" || a.header.Get("Content-Type") != "application/json" {
				t.Fatalf("answer %d %v %s: %v", a.status, a.header, a.body, err)
			}
			if !strings.HasPrefix(a.header.Get("Content-Security-Policy"), "sandbox;") || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v: a page of a workflow's must have no origin", a.header)
			}
			if echo.Method != "PATCH" || echo.Path != "/orders/a%2Fb" || echo.Query != "x=1&x=%20" || string(echo.Body) != body || echo.Remote != "127.0.0.1" {
				t.Errorf("got %+v", echo)
			}
			if echo.Header.Get("x-thing") != "ünï" || time.Since(echo.ReceivedAt) > time.Minute {
				t.Errorf("got %+v", echo)
			}
			if bytes.Contains(a.body, []byte("hush")) {
				t.Errorf("credentials were received: %s", a.body)
			}
			r.hits("GET", at, "")
			got := r.received("echo")
			if len(got) != 2 || got[1].Method != "GET" || got[1].Path != "" || len(got[1].Body) != 0 || got[0].Reply == got[1].Reply {
				t.Errorf("got %+v", got)
			}
			if n := r.counts("echo", world.StepCreated); n != 2 {
				t.Errorf("%d records of answers, want 2", n)
			}
			row, err := r.world.Run(t.Context(), "echo")
			if err != nil || row.Claims > 3 {
				t.Errorf("%d claims, %v; want one at birth and one a request", row.Claims, err)
			}
		})
	}
}

// TestWebhookTokenIsNotReceived: what a proxy or a browser says of the URL is kept without the token that it has.
func TestWebhookTokenIsNotReceived(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	at := r.opens(hookSpec{Token: "echo-secret~1", Requests: 1})
	r.hits("POST", at+"/again/wh_echo-secret~1/x?of=%77h_echo-secret%7e1", "", "Referer", "https://a.example"+at, "X-Original-Uri", "/wh_echo%2Dsecret%7E1/",
		"X-Envoy-Original-Path", "/wh%5fecho-secret~1", "X-Forwarded-Uri", "/?to=wh%255Fecho-secret%257e1", "X-Thing", "wh_echo")
	got := r.received("echo-secret~1")
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	h := got[0].Header
	for name, want := range map[string]string{
		"Referer": "https://a.example" + webhooks + "hidden", "X-Original-Uri": "/hidden/", "X-Envoy-Original-Path": "/hidden", "X-Forwarded-Uri": "/?to=hidden",
		"X-Thing": "wh_echo",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if got[0].Path != "/again/hidden/x" || got[0].Query != "of=hidden" {
		t.Errorf("path %q, query %q", got[0].Path, got[0].Query)
	}
}

func (r *rig) counts(run string, typ world.EventType) int {
	r.Helper()
	page, err := r.world.Events(r.Context(), run, world.EventQuery{Types: []world.EventType{typ}})
	if err != nil {
		r.Fatal(err)
	}
	return len(page.Events)
}

// TestWebhookAnswers: static ones, none, late ones, and those of a run that ends or is gone.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	plain := r.opens(hookSpec{Token: "plain", Requests: 2})
	if a := r.want(202, "POST", plain, `{}`); a.get("accepted") != true || a.get("detail") != nil {
		t.Errorf("got %s", a.body)
	}
	r.want(202, "POST", plain+"/a/b", `{}`)
	r.received("plain")
	r.refused(410, "RUN_OVER", "POST", plain, `{}`)

	static := r.opens(hookSpec{Token: "static", Requests: 2, Static: &webhook.Response{
		Status: 302, Header: map[string]string{"location": "/thanks", "Cache-Control": "max-age=1"}, Body: []byte("<p>"),
	}})
	a := r.hits("GET", static, "")
	if a.status != 302 || a.header.Get("Location") != "/thanks" || a.header.Get("Cache-Control") != "max-age=1" || string(a.body) != "<p>" || a.header.Get("Content-Type") != textPlain {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}

	never := r.opens(hookSpec{Token: "never", Wait: time.Hour, Silent: 1, Requests: 1})
	if a := r.hits("POST", never, "1"); a.status != 202 || !strings.Contains(fmt.Sprint(a.get("detail")), "over") {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if n := len(r.server.places.waiting); n != 0 {
		t.Errorf("%d places are still taken by who waits", n)
	}
}

// TestWebhookIsLate: who waits, does so for as long as webhook and server let it, and is told.
func TestWebhookIsLate(t *testing.T) {
	t.Parallel()
	for bound, wait := range map[string]struct{ hook, server time.Duration }{"20ms": {20 * time.Millisecond, time.Hour}, "30ms": {time.Hour, 30 * time.Millisecond}} {
		r := newRig(t, "memory", Options{MaxWait: wait.server})
		late := r.opens(hookSpec{Token: "late", Wait: wait.hook, Silent: 1, Requests: 2})
		if a := r.hits("POST", late, "1"); a.status != 202 || a.get("accepted") != true || !strings.Contains(fmt.Sprint(a.get("detail")), bound) {
			t.Errorf("got %d %s, want to be told of %s", a.status, a.body, bound)
		}
		r.hits("POST", late, "2")
		if got := r.received("late"); len(got) != 2 {
			t.Errorf("got %+v, want two requests", got)
		}
	}
}

// TestWebhookComesAgain: what its sender calls the delivery tells a second one, in whatever header.
func TestWebhookComesAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	at := r.opens(hookSpec{Token: "again", Wait: time.Minute, Requests: 4})
	for i, name := range []string{"Idempotency-Key", "X-GitHub-Delivery", "Webhook-Id"} {
		id := fmt.Sprint("id ", i)
		first, second := r.hits("POST", at, "{}", name, id), r.hits("POST", at, "{}", name, id)
		if first.status != 207 || !bytes.Equal(first.body, second.body) || first.get("delivery") != id {
			t.Errorf("%s: %d %s, then %d %s", name, first.status, first.body, second.status, second.body)
		}
	}
	r.hits("POST", at, "last")
	if got := r.received("again"); len(got) != 4 {
		t.Errorf("got %d requests, want 4: %+v", len(got), got)
	}
}

// TestWebhookSignedBodyIsTheName: what GitHub calls a delivery is not signed, so an equal body is the same delivery whatever that says, and another body
// another one. Where nothing is signed the header is the name.
func TestWebhookSignedBodyIsTheName(t *testing.T) {
	t.Parallel()
	const secret = "hush-hush-hush-hush"
	secrets, err := ParseWebhookSecrets("github=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{WebhookSecrets: secrets})
	signed := r.opens(hookSpec{Token: "signed", Scheme: webhook.GitHub, Secret: "github", Requests: 2})
	open := r.opens(hookSpec{Token: "open", Requests: 2})
	for i, body := range []string{`{"n":1}`, `{"n":1}`, `{"n":2}`} {
		id := fmt.Sprint("id-", i/2, i) // another one each time
		if a := r.hits("POST", signed, body, "X-Hub-Signature-256", "sha256="+mac(secret, body), "X-GitHub-Delivery", id); a.status != 202 {
			t.Errorf("signed %d: got %d %s", i, a.status, a.body)
		}
	}
	for _, id := range []string{"a", "a", "b"} {
		if a := r.hits("POST", open, `{"n":1}`, "X-GitHub-Delivery", id); a.status != 202 {
			t.Errorf("open %s: got %d %s", id, a.status, a.body)
		}
	}
	for token, want := range map[string][]string{"signed": {`{"n":1}`, `{"n":2}`}, "open": {`{"n":1}`, `{"n":1}`}} {
		var got []string
		for _, req := range r.received(token) {
			got = append(got, string(req.Body))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: received %q, want %q", token, got, want)
		}
	}
}

// TestWebhookUsedName: a name that was used is of that request, with its answer, also when the run is over; another
// request under it is refused.
func TestWebhookUsedName(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	at := r.opens(hookSpec{Token: "used", Requests: 2})
	named := []string{"Idempotency-Key", "d 1"}
	send := func(method, path, body string) *reply { return r.hits(method, path, body, named...) }
	hold := func(when string) {
		t.Helper()
		if a := send("POST", at, "one"); a.status != 202 || a.get("accepted") != true {
			t.Errorf("the same request, %s: got %d %s, want the same answer", when, a.status, a.body)
		}
		for _, other := range []*reply{send("POST", at, "two"), send("PUT", at, "one"), send("POST", at+"/path", "one"), send("POST", at+"?q=1", "one")} {
			if other.status != 422 || other.get("code") != "DELIVERY_USED" {
				t.Errorf("another request, %s: got %d %s, want 422 DELIVERY_USED", when, other.status, other.body)
			}
		}
	}
	if a := send("POST", at, "one"); a.status != 202 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	hold("while the run lives")
	r.hits("POST", at, "last")
	if got := r.received("used"); len(got) != 2 {
		t.Errorf("got %d requests, want 2: %+v", len(got), got)
	}
	hold("when the run is over")
	r.refused(410, "RUN_OVER", "POST", at, "new")
	if a := r.hits("HEAD", at, ""); a.status != 410 {
		t.Errorf("HEAD: got %d, want 410", a.status)
	}
	r.refused(404, "NOT_FOUND", "POST", webhooks+"wh_unknown", "new")
}

// TestWebhookCallerVanishes: who goes away while waiting holds nothing, and the answer that comes then does no harm.
func TestWebhookCallerVanishes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	at := r.opens(hookSpec{Token: "gone", Wait: time.Hour, Silent: 1, Requests: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() {
		if a, err := r.hit(ctx, "POST", at, strings.NewReader("1"), "Idempotency-Key", "k"); err == nil {
			t.Errorf("got %d %s, want to be gone", a.status, a.body)
		}
	})
	r.until("the request to be received, and waited for", func() bool { return r.counts("gone", world.HookReceived) == 1 && len(r.server.places.waiting) == 1 })
	cancel()
	calling.Wait()
	r.until("the place to be free", func() bool { return len(r.server.places.waiting) == 0 })
	if a := r.hits("POST", at, "2"); a.status != 207 {
		t.Errorf("the next: got %d %s", a.status, a.body)
	}
	if strings.Contains(r.log.String(), "level=ERROR") {
		t.Errorf("log: %s", r.log)
	}
}

// TestWebhookDrain: who waits for an answer is told when the server ends; where nobody has room to wait nothing is written.
func TestWebhookDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{MaxWaiting: 1})
	at := r.opens(hookSpec{Token: "drain", Wait: time.Hour, Silent: 9, Requests: 9})
	var calling sync.WaitGroup
	calling.Go(func() {
		if a, err := r.hit(t.Context(), "POST", at, strings.NewReader("1")); err != nil || a.status != 202 {
			t.Errorf("got %+v, %v, want 202", a, err)
		}
	})
	r.until("the first to wait", func() bool { return r.counts("drain", world.HookReceived) == 1 })
	before := r.events()
	if a := r.hits("POST", at, "2"); a.status != 429 || a.get("code") != "BUSY" {
		t.Errorf("got %d %s, want 429", a.status, a.body)
	}
	if n := r.events(); n != before {
		t.Errorf("%d events and mail, want %d: nothing written", n, before)
	}
	r.server.Drain()
	calling.Wait()
}

// TestWebhookSigned: signed requests come in, others do not; a secret that the server does not have is its own fault, and is logged.
func TestWebhookSigned(t *testing.T) {
	t.Parallel()
	const secret = "hush-hush-hush-hush"
	secrets, err := ParseWebhookSecrets("shop=whsec_the-old-one\nshop=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{WebhookSecrets: secrets})
	at := r.opens(hookSpec{Token: "stripe", Wait: time.Minute, Scheme: webhook.Stripe, Secret: "shop", Requests: 2})
	sign := func(body string, when time.Time, key string) string {
		return fmt.Sprintf("t=%d,v1=%s", when.Unix(), mac(key, fmt.Sprintf("%d.%s", when.Unix(), body)))
	}
	const paid = `{"id":"evt_1","type":"paid"}`
	before := r.events()
	for what, header := range map[string]string{
		"none": "", "another secret": sign(paid, time.Now(), "0123456789abcdef"), "another body": sign(paid+" ", time.Now(), secret),
		"an hour old": sign(paid, time.Now().Add(-time.Hour), secret), "an hour ahead": sign(paid, time.Now().Add(time.Hour), secret), "nonsense": "\tt=,v1",
	} {
		a := r.refused(401, "BAD_SIGNATURE", "POST", at, paid, "Stripe-Signature", header)
		if a.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: it asks for an API key", what)
		}
	}
	r.refused(404, "NOT_FOUND", "POST", "/v1/hooks/wh_strip", paid)
	r.refused(400, "INVALID", "POST", "/v1/hooks/wh_stripe", paid) // no way around
	if n := r.events(); n != before {
		t.Errorf("%d events and mail, want %d: nothing written", n, before)
	}
	first := r.hits("POST", at, paid, "Stripe-Signature", sign(paid, time.Now(), secret), "Idempotency-Key", "a")
	replayed := r.hits("POST", at, paid, "Stripe-Signature", sign(paid, time.Now().Add(-time.Second), "whsec_the-old-one"), "Idempotency-Key", "b")
	if first.status != 207 || !bytes.Equal(first.body, replayed.body) || first.get("delivery") != "evt_1" {
		t.Errorf("got %d %s, replayed %d %s", first.status, first.body, replayed.status, replayed.body)
	}

	unknown := r.opens(hookSpec{Token: "unknown", Scheme: webhook.GitHub, Secret: "nobody-set-it", Requests: 1})
	wrong := r.opens(hookSpec{Token: "wrong", Scheme: webhook.Standard, Secret: "shop", Requests: 1})
	before = r.events()
	for _, at := range []string{unknown, wrong} {
		r.refused(503, "UNKNOWN_SECRET", "POST", at, paid)
	}
	if n := r.events(); n != before {
		t.Errorf("%d events and mail, want %d: nothing written", n, before)
	}
	log := r.log.String()
	for _, part := range []string{"nobody-set-it", "--webhook-secret", "webhook refused", "not a secret of Standard Webhooks"} {
		if !strings.Contains(log, part) {
			t.Errorf("the log does not have %q: %s", part, log)
		}
	}
	if strings.Contains(log, "hush") || strings.Contains(log, "the-old-one") {
		t.Errorf("the log has a secret: %s", log)
	}
	for _, path := range []string{"/v1/hooks?run=stripe", "/v1/hooks/wh_stripe"} {
		a := r.want(200, "GET", path, "")
		if strings.Contains(string(a.body), "shop") || !strings.Contains(string(a.body), `"metadata":{"for":"you"}`) {
			t.Errorf("%s: got %s, want metadata, and nothing about the secret", path, a.body)
		}
	}
	if got := r.want(200, "GET", "/v1/hooks?run=stripe", "").get("0.url"); got != "http://127.0.0.1:7373"+at {
		t.Errorf("url is %v", got)
	}
}

// TestWebhookAbuse: what is hostile gets a clear 4xx, and nothing is written.
func TestWebhookAbuse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{MaxBody: 3 << 20})
	at := r.opens(hookSpec{Token: "prey", Requests: 100})
	before := r.events()
	many := make([]string, 0, 400)
	for i := range 200 {
		many = append(many, fmt.Sprint("X-", i), "x")
	}
	for what, test := range map[string]struct {
		status  int
		method  string
		path    string
		body    io.Reader
		headers []string
	}{
		"one that is too large as JSON": {413, "POST", at, io.LimitReader(zeros{}, 2<<20), nil},
		"many headers":                  {431, "POST", at, nil, many},
		"long headers":                  {431, "POST", at, nil, []string{"X-Long", strings.Repeat("x", 40<<10)}},
		"a header that is no UTF-8":     {400, "POST", at, nil, []string{"X-A", "\xff\xfe"}},
		"a key that is too long":        {400, "POST", at, nil, []string{"Idempotency-Key", strings.Repeat("k", 600)}},
		"a name that is too long":       {400, "POST", at, nil, []string{"X-GitHub-Delivery", strings.Repeat("k", 600)}},
		"a method":                      {405, "BREW", at, nil, nil},
		"a trace":                       {405, "TRACE", at, nil, nil},
		"a token with NUL":              {400, "POST", webhooks + "wh_%00", nil, nil},
		"a token that is no UTF-8":      {400, "POST", webhooks + "wh_%ff", nil, nil},
		"a token with a newline":        {400, "POST", webhooks + "wh_prey%0d%0aX-A:b", nil, nil},
		"a long token":                  {400, "POST", webhooks + strings.Repeat("w", 4000), nil, nil},
		"no token":                      {404, "POST", webhooks, nil, nil},
		"a plain hook's token":          {404, "POST", webhooks + "courier", nil, nil},
		"another path":                  {404, "POST", webhooks + "../webhook/wh_prey", nil, nil},
		"a path that is no UTF-8":       {202, "POST", at + "/%ff%00", nil, nil}, // it stays as it is escaped
	} {
		a, err := r.hit(t.Context(), test.method, test.path, test.body, test.headers...)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if a.status != test.status || a.header.Get("X-A") != "" {
			t.Errorf("%s: got %d %s, want %d", what, a.status, a.body, test.status)
		}
		if a.status == 202 {
			r.until("the mail to be taken", func() bool {
				return r.counts("prey", world.HookReceived) == 1 && r.counts("prey", world.StepCreated) == 1
			})
			before += 2 // the payload, and the record that the code took it
		}
	}
	head := "POST " + at + " HTTP/1.1\r\nHost: x\r\n"
	for what, test := range map[string]struct{ request, want string }{
		"10,000 headers":      {head + strings.Repeat("X-A: b\r\n", 10_000) + "\r\n", "HTTP/1.1 431 "},
		"NUL in a header":     {head + "X-A: a\x00b\r\n\r\n", "HTTP/1.1 400 "},
		"100 MB":              {head + "Content-Length: 104857600\r\n\r\n{", "HTTP/1.1 413 "},
		"two lengths":         {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 "},
		"a query that is raw": {"POST " + at + "?a=\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
	} {
		if got := r.raw(test.request); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
	if n := r.events(); n != before {
		t.Errorf("%d events and mail, want %d: nothing written", n, before)
	}
	slow := newRig(t, "memory", Options{ReadTimeout: 20 * time.Millisecond})
	head = "POST " + slow.opens(hookSpec{Token: "slow", Wait: time.Hour, Requests: 1}) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
	if got := slow.raw(head); !strings.HasPrefix(got, "HTTP/1.1 408 ") || slow.counts("slow", world.HookReceived) != 0 {
		t.Errorf("half a body: got %q and %d payloads", got, slow.counts("slow", world.HookReceived))
	}
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestRespond: an answer that no workflow should have been able to give is none.
func TestRespond(t *testing.T) {
	t.Parallel()
	for _, bad := range []webhook.Response{{Status: 101}, {Header: map[string]string{"X-A": "b\r\nSet-Cookie: c=d"}}, {Header: map[string]string{"Set-Cookie": "c=d"}}} {
		if err := respond(nil, &bad); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("%+v: got %v, want ErrCorrupt", bad, err)
		}
	}
	if names := slices.Collect(strings.SplitSeq(webhookMethods, ", ")); len(names) != 7 || !slices.IsSorted(names) {
		t.Errorf("methods %q", names)
	}
}
