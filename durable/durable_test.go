package durable_test

// This file holds what a client sees of a durable handler, over real HTTP.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/durable"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

type cart struct {
	ID    int      `json:"id"`
	Items []string `json:"items"`
}

type receipt struct {
	Cart  int `json:"cart"`
	Items int `json:"items"`
}

var paid = stepwell.Event[bool]("paid")

// checkout waits for its payment, where it has two items or more, and tells how far it is.
var checkout = stepwell.Define("checkout", func(ctx stepwell.Context, c cart) (receipt, error) {
	switch {
	case c.ID < 0:
		return receipt{}, fmt.Errorf("no cart %d, says the secret service", c.ID)
	case len(c.Items) == 0:
		return receipt{}, nil
	}
	for i, item := range c.Items {
		if i == 1 {
			if _, _, err := paid.Wait(ctx); err != nil {
				return receipt{}, err
			}
		}
		if err := stepwell.WriteStream(ctx, "progress", item); err != nil {
			return receipt{}, err
		}
	}
	return receipt{c.ID, len(c.Items)}, nil
})

// shop is a handler with a worker behind it.
type shop struct {
	*testing.T
	app *stepwell.App
	url string
}

func open(t *testing.T, opts durable.Options) *shop {
	t.Helper()
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{checkout}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var worker sync.WaitGroup
	worker.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/checkout", durable.Handler(app, checkout, opts))
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		stop()
		worker.Wait()
	})
	return &shop{T: t, app: app, url: s.URL + "/checkout"}
}

// request makes a request: "POST ?run=x", with headers "Name: value".
func (s *shop) request(ctx context.Context, what, body string, headers ...string) *http.Request {
	s.Helper()
	method, query, _ := strings.Cut(what, " ")
	r, err := http.NewRequestWithContext(ctx, method, s.url+query, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// reply is an answer.
type reply struct {
	status int
	head   http.Header
	body   string
	problem
}

type problem struct {
	Code, Title, Detail, Run string
	Errors                   []world.Misfit
}

func (s *shop) do(what, body string, headers ...string) reply {
	s.Helper()
	r, err := http.DefaultClient.Do(s.request(s.Context(), what, body, headers...))
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	got := reply{status: r.StatusCode, head: r.Header, body: strings.TrimSpace(string(b))}
	if r.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(b, &got.problem); err != nil {
			s.Errorf("%s: %v", b, err)
		}
	}
	return got
}

func (s *shop) pay(run string) {
	s.Helper()
	if err := paid.Send(s.Context(), s.app, run, true); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) runs() (n int) {
	s.Helper()
	n, err := s.app.Count(s.Context(), stepwell.ListFilter{})
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func TestARequestIsAnsweredWithTheOutput(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	got := s.do("POST", `{"id": 7, "items": ["tea"]}`, "Idempotency-Key: cart-7")
	if got.status != 200 || got.body != `{"cart":7,"items":1}` || got.head.Get("Content-Type") != "application/json" {
		t.Errorf("got %+v", got)
	}
	run := got.head.Get("Stepwell-Run")
	if again := s.do("POST", `{"items": ["tea"], "id": 7}`, "Idempotency-Key: cart-7"); again.body != got.body || again.head.Get("Stepwell-Run") != run {
		t.Errorf("again: got %+v, want the same", again)
	}
	if there := s.do("GET "+got.head.Get("Location"), ""); there.body != got.body {
		t.Errorf("at %s: got %+v, want the same", got.head.Get("Location"), there)
	}
	if n := s.runs(); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

func TestWhatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{MaxBody: 200, Key: func(r *http.Request) (string, error) {
		key := r.Header.Get("Idempotency-Key")
		if key == "of another" {
			return "", fmt.Errorf("%w: the key is another's", stepwell.ErrInvalid)
		}
		return key, nil
	}})
	for name, test := range map[string]struct {
		what, body string
		headers    []string
		status     int
		code       string
	}{
		"no JSON":            {"POST", `{"id": `, nil, 400, "INVALID"},
		"nothing":            {"POST", ``, nil, 400, "INVALID"},
		"twice a member":     {"POST", `{"id": 1, "id": 2}`, nil, 400, "INVALID"},
		"another type":       {"POST", `{"id": "seven"}`, nil, 422, "UNFIT"},
		"null":               {"POST", `null`, nil, 422, "UNFIT"},
		"too large":          {"POST", `{"items": ["` + strings.Repeat("x", 200) + `"]}`, nil, 413, "TOO_LARGE"},
		"a form":             {"POST", `id=7`, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"no type":            {"POST", `{}`, []string{"Content-Type: "}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"a key too long":     {"POST", `{}`, []string{"Idempotency-Key: " + strings.Repeat("k", 2000)}, 400, "INVALID"},
		"a key refused":      {"POST", `{}`, []string{"Idempotency-Key: of another"}, 400, "INVALID"},
		"another method":     {"PUT", `{}`, nil, 405, "METHOD_NOT_ALLOWED"},
		"no such run":        {"GET ?run=wrun_none", ``, nil, 404, "NOT_FOUND"},
		"no run":             {"GET", ``, nil, 404, "NOT_FOUND"},
		"a strange run":      {"GET ?run=%00", ``, nil, 404, "NOT_FOUND"},
		"a strange mark":     {"POST", `{}`, []string{"Last-Event-ID: seven"}, 400, "INVALID"},
		"a mark of no run":   {"POST", `{}`, []string{"Last-Event-ID: wrun_none/3"}, 404, "NOT_FOUND"},
		"a strange patience": {"POST", `{}`, []string{"Prefer: wait=long"}, 400, "INVALID"},
	} {
		if got := s.do(test.what, test.body, test.headers...); got.status != test.status || got.Code != test.code || got.Title == "" || got.Detail == "" {
			t.Errorf("%s: got %d %+v, want %d %s", name, got.status, got.problem, test.status, test.code)
		}
	}
	got := s.do("POST", `{"id": 1, "items": ["tea", 2]}`)
	if len(got.Errors) != 1 || got.Errors[0].Pointer != "/items/1" {
		t.Errorf("got %+v, want the place /items/1", got)
	}
	if n := s.runs(); n != 0 {
		t.Errorf("%d runs, want none", n)
	}
}

// TestLargeInputsAndOutputs: an input that is kept apart from the log is still what its key is for, and an output of
// that size is given out.
func TestLargeInputsAndOutputs(t *testing.T) {
	t.Parallel()
	w := memory.New()
	echo := stepwell.Define("echo", func(_ stepwell.Context, text string) (string, error) { return text, nil })
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{echo}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var worker sync.WaitGroup
	worker.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	mux := httptest.NewServer(durable.Handler(app, echo, durable.Options{MaxBody: 8 << 20}))
	t.Cleanup(func() { mux.Close(); stop(); worker.Wait() })
	s := &shop{T: t, app: app, url: mux.URL}
	text := `"` + strings.Repeat("large ", 400_000) + `"`
	first := s.do("POST", text, "Idempotency-Key: k")
	if first.status != 200 || first.body != text {
		t.Fatalf("got %d with %d bytes, want what was sent", first.status, len(first.body))
	}
	if again := s.do("POST", text, "Idempotency-Key: k"); again.status != 200 || again.body != text || again.head.Get("Stepwell-Run") != first.head.Get("Stepwell-Run") {
		t.Errorf("again: got %d with %d bytes, want the same", again.status, len(again.body))
	}
	if other := s.do("POST", `"other"`, "Idempotency-Key: k"); other.Code != "KEY_USED" {
		t.Errorf("another input: got %d %.200s, want KEY_USED", other.status, other.body)
	}
	looks := s.do("POST", `"small"`, "Idempotency-Key: l")
	if looks.status != 200 || looks.body != `"small"` {
		t.Errorf("got %+v", looks)
	}
	events := s.do("POST", text, "Idempotency-Key: k", "Accept: text/event-stream")
	if events.status != 200 || !strings.Contains(events.body, text) {
		t.Errorf("events: got %d with %d bytes, want the output in them", events.status, len(events.body))
	}
}

func TestAKeyIsForOneInput(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	s.do("POST", `{"id": 7}`, "Idempotency-Key: k")
	if got := s.do("POST", `{"id": 8}`, "Idempotency-Key: k"); got.status != 422 || got.Code != "KEY_USED" {
		t.Errorf("got %d %s, want 422 KEY_USED", got.status, got.body)
	}
}

func TestARunThatFailsIsAProblem(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	got := s.do("POST", `{"id": -1, "items": []}`)
	if got.status != 500 || got.Code != "RUN_FAILED" || got.Run == "" || got.Run != got.head.Get("Stepwell-Run") || strings.Contains(got.body, "secret") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	s = open(t, durable.Options{Failed: func(err *stepwell.RunError) (int, string) { return 409, err.Unwrap().Error() }})
	if got := s.do("POST", `{"id": -1}`); got.status != 409 || got.Detail != "no cart -1, says the secret service" {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestWhoCannotWaitComesAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts   durable.Options
		header string
	}{
		"as the handler has it": {durable.Options{Wait: time.Millisecond}, "X: y"},
		"as the client has it":  {durable.Options{}, "Prefer: foo, wait=0"},
		"at once":               {durable.Options{}, "Prefer: respond-async"},
	} {
		s := open(t, test.opts)
		got := s.do("POST", `{"id": 1, "items": ["tea", "milk"]}`, "Idempotency-Key: k", test.header)
		if got.status != 202 || got.head.Get("Retry-After") == "" || !strings.Contains(got.body, got.head.Get("Stepwell-Run")) {
			t.Fatalf("%s: got %+v, want 202", name, got)
		}
		s.pay(got.head.Get("Stepwell-Run"))
		for test.opts.Wait != 0 && got.status == 202 { // it takes a moment
			got = s.do("GET "+got.head.Get("Location"), "")
		}
		if got := s.do("GET "+got.head.Get("Location"), ""); got.body != `{"cart":1,"items":2}` {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestWithoutAKeyTheRunIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	var told atomic.Value
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		told.Store(h.Get("Stepwell-Run"))
		s.pay(h.Get("Stepwell-Run")) // only now the run can end
		return nil
	}})
	r, err := http.DefaultClient.Do(s.request(ctx, "POST", `{"id": 1, "items": ["tea", "milk"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if run := r.Header.Get("Stepwell-Run"); r.StatusCode != 200 || run == "" || told.Load() != run {
		t.Errorf("got %d of run %q, told before was %v", r.StatusCode, run, told.Load())
	}
}

func TestTheRunGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		s := open(t, durable.Options{CancelWithClient: cancelled})
		ctx, leave := context.WithCancel(t.Context())
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
			leave()
			return nil
		}})
		if _, err := http.DefaultClient.Do(s.request(ctx, "POST", `{"id": 1, "items": ["tea", "milk"]}`)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var run string
		for info, err := range s.app.List(t.Context(), stepwell.ListFilter{}) {
			if run = info.ID; err != nil {
				t.Fatal(err)
			}
		}
		if !cancelled {
			s.pay(run)
		}
		_, err := checkout.Get(s.app, run).Result(t.Context())
		if errors.Is(err, stepwell.ErrCancelled) != cancelled || !cancelled && err != nil {
			t.Errorf("CancelWithClient %t: the run ended with %v", cancelled, err)
		}
	}
}

// event is one of a stream of events.
type event struct{ id, kind, data string }

// events follows a stream of events.
func events(t *testing.T, r *http.Response) func() (event, bool) {
	lines := bufio.NewScanner(r.Body)
	return func() (e event, ok bool) {
		t.Helper()
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				if e.kind != "" {
					return e, true
				}
			}
		}
		return e, false
	}
}

func (s *shop) follow(what, body string, headers ...string) (*http.Response, func() (event, bool)) {
	s.Helper()
	r, err := http.DefaultClient.Do(s.request(s.Context(), what, body, append(headers, "Accept: text/event-stream")...))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = r.Body.Close() })
	return r, events(s.T, r)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := open(t, durable.Options{})
	const order = `{"id": 1, "items": ["tea", "milk", "sugar"]}`
	r, next := s.follow("POST", order, "Idempotency-Key: k")
	first, _ := next()
	if run := r.Header.Get("Stepwell-Run"); first.kind != "run" || first.data != `{"run":"`+run+`"}` {
		t.Fatalf("got %+v", first)
	}
	tea, _ := next()
	if tea.kind != "chunk" || tea.data != `"tea"` {
		t.Fatalf("got %+v", tea)
	}
	_ = r.Body.Close() // the connection broke
	_, next = s.follow("POST", order, "Idempotency-Key: k", "Last-Event-ID: "+tea.id)
	s.pay(r.Header.Get("Stepwell-Run"))
	var got []string
	var last event
	for e, ok := next(); ok; e, ok = next() {
		got, last = append(got, e.kind+" "+e.data), e
	}
	if want := `[chunk "milk" chunk "sugar" result {"cart":1,"items":3}]`; fmt.Sprint(got) != want {
		t.Errorf("the same request: got %v, want %s", got, want)
	}
	if end, _ := s.follow("GET "+r.Header.Get("Location"), "", "Last-Event-ID: "+last.id); end.StatusCode != 204 {
		t.Errorf("behind the end: got %d, want 204", end.StatusCode)
	}
	for _, what := range []string{"POST", "GET " + r.Header.Get("Location")} {
		_, next := s.follow(what, "", "Last-Event-ID: "+tea.id)
		if e, _ := next(); e.data != `"milk"` {
			t.Errorf("%s behind %s: got %+v, want milk", what, tea.id, e)
		}
	}
	_, next = s.follow("POST", `{"id": -1}`)
	_, _ = next()
	if e, _ := next(); e.kind != "problem" || !strings.Contains(e.data, "RUN_FAILED") || strings.Contains(e.data, "secret") {
		t.Errorf("got %+v", e)
	}
}
