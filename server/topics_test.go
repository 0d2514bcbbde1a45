package server

// Topics over HTTP: subscriptions of three kinds, posts to endpoints that answer as they should and as they should not.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// standard is a secret as Standard Webhooks has it.
const standard = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr"

// walkTopics: one publication comes to a queue, a run and an endpoint; what is published again under its ID does not.
func walkTopics(r *rig) {
	began := len(r.log.String())
	got := make(chan *http.Request, 9)
	bodies := make(chan string, 9)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		bodies <- string(b)
		got <- q
	}))
	r.Cleanup(endpoint.Close)
	const s = "/v1/subscriptions/"
	if a := r.refused(404, "NOT_FOUND", "PUT", s+"mails", `{"pattern": "#", "queue": "books"}`); !strings.Contains(fmt.Sprint(a.get("detail")), "PUT /v1/queues/books") {
		r.Errorf("an unknown queue: got %s, want what to do", a.body)
	}
	r.want(200, "PUT", "/v1/queues/books", "")
	if a := r.want(200, "PUT", s+"mails", `{"pattern": "#", "queue": "books", "match": {"order": "o-7"}, "ordered": true}`); a.get("subscription.messages") != "books" || a.get("secret") != nil {
		r.Errorf("a queue's: got %s", a.body)
	}
	r.want(200, "PUT", s+"ship", `{"pattern": "order.*", "workflow": {"name": "order", "key": "k-{payload.order}"}}`)
	a := r.want(200, "PUT", s+"bill", `{"pattern": "order.paid", "endpoint": {"url": "`+endpoint.URL+`/in", "private": true, "giveUp": "24h"}}`)
	secret := fmt.Sprint(a.get("secret"))
	if _, err := world.Secret(secret).Key(); err != nil || a.get("subscription.endpoint.giveUp") != "1d" {
		r.Errorf("an endpoint's: got %s", a.body)
	}
	if a := r.want(200, "PUT", s+"bill", `{"pattern": "order.#", "match": null, "endpoint": {"url": "`+endpoint.URL+`/in", "private": true}}`); a.get("secret") != nil || a.get("subscription.pattern") != "order.#" {
		r.Errorf("said anew: got %s", a.body)
	}
	a = r.want(201, "POST", "/v1/topics/order.paid", `{"payload": {"order": "o-7"}, "headers": {"traceparent": "00-1-2-01", "clerk": "ann"}, "source": "till"}`, "Idempotency-Key", "pay-7")
	id := a.get("id")
	if a := r.want(201, "POST", "/v1/topics/order.paid", `{"payload": {"order": "o-7"}, "deliveryId": "pay-7"}`); a.get("id") != id || a.get("duplicate") != true {
		r.Errorf("published twice: got %s", a.body)
	}
	q, body := <-got, <-bodies
	if !strings.Contains(body, `"type":"order.paid"`) || !strings.Contains(body, `"data":{"order":"o-7"}`) || !strings.Contains(body, `"clerk":"ann"`) || strings.Contains(body, "stepwell-") {
		r.Errorf("posted %s", body)
	}
	key, _ := world.Secret(secret).Key()
	signed := http.Header{}
	at, err := time.Parse(time.RFC3339Nano, body[strings.Index(body, `"timestamp":"`)+13:][:len("2006-01-02T15:04:05Z")-1]+"Z")
	if err != nil || time.Since(at) > time.Hour {
		r.Errorf("its time: %v %v", at, err)
	}
	var seconds int64
	fmt.Sscan(q.Header.Get(headerTimestamp), &seconds)
	signAs(signed, fmt.Sprint(id), []PushSecret{{key}}, []byte(body), time.Unix(seconds, 0))
	if q.URL.Path != "/in" || q.Header.Get(headerID) != id || q.Header.Get(headerSignature) != signed.Get(headerSignature) || q.Header.Get("Traceparent") != "00-1-2-01" || q.Header.Get("Clerk") != "" {
		r.Errorf("posted with %v, want the signature %s", q.Header, signed.Get(headerSignature))
	}
	if a := r.want(200, "POST", "/v1/queues/books/receive", `{"wait": "20s"}`); a.get("messages.0.payload.order") != "o-7" || a.get("messages.0.headers.stepwell-topic") != "order.paid" || a.get("messages.0.group") != "order.paid/till" {
		r.Errorf("the queue got %s", a.body)
	}
	r.until("the run", func() bool {
		a := r.send("GET", "/v1/runs?key=k-o-7", "")
		return a.get("runs.0.workflow") == "order"
	})
	r.until("the queues to be empty", func() bool {
		a := r.want(200, "GET", "/v1/subscriptions", "")
		return a.get("subscriptions.0.counts.out") == 0.0 && a.get("subscriptions.2.counts.out") == 0.0
	})
	if a := r.want(200, "GET", "/v1/publications?topic=order.*", ""); a.get("publications.0.id") != id || a.get("publications.0.spread") != true || a.get("publications.1") != nil {
		r.Errorf("publications: got %s", a.body)
	}
	if a := r.want(200, "POST", s+"bill/rotate-secret", ""); a.get("secret") == secret || a.get("secret") == nil {
		r.Errorf("rotated: got %s", a.body)
	}
	if a := r.want(200, "POST", s+"bill/pause", `{"reason": "tea"}`); a.get("paused.reason") != "tea" {
		r.Errorf("paused: got %s", a.body)
	}
	r.want(201, "POST", "/v1/topics/order.sent", `{"payload": null, "at": "2001-01-01T00:00:00Z"}`)
	r.until("a message that waits", func() bool { return r.want(200, "GET", s+"bill", "").get("counts.ready") == 1.0 })
	r.want(200, "POST", s+"bill/resume", "")
	if q = <-got; len(strings.Fields(q.Header.Get(headerSignature))) != 2 {
		r.Errorf("after the rotation it is signed with %q, want two", q.Header.Get(headerSignature))
	}
	<-bodies
	// It has not what the key's template names.
	r.until("a dead letter", func() bool { return r.want(200, "GET", s+"ship", "").get("counts.dead") == 1.0 })
	if a := r.want(200, "POST", s+"ship/redeliver", ""); a.get("messages") != 1.0 {
		r.Errorf("redelivered: got %s", a.body)
	}
	r.until("a dead letter again", func() bool { return r.want(200, "GET", s+"ship", "").get("counts.dead") == 1.0 })
	r.want(204, "DELETE", s+"ship", "")
	r.refused(404, "NOT_FOUND", "GET", s+"ship", "")
	r.refused(404, "NOT_FOUND", "DELETE", s+"ship", "")
	r.refused(404, "NOT_FOUND", "GET", "/v1/queues/subscription.ship", "")
	if log := r.log.String()[began:]; strings.Contains(log, "whsec") || strings.Contains(log, "o-7") || !strings.Contains(log, "what=subscribe") || !strings.Contains(log, "subscription=bill") {
		r.Error("the audit log should have the subscriptions, and neither secrets nor payloads")
	}
}

// TestTopicRefusals: what is wrong is refused, and nothing is written.
func TestTopicRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	for _, topic := range []string{"a..b", "a.*", "%23", "a%20b", strings.Repeat("a.", 16) + "a", strings.Repeat("a", 257)} {
		r.refused(400, "INVALID", "POST", "/v1/topics/"+topic, `{"payload": 1}`)
	}
	for _, body := range []string{`{}`, `{"payload": 1, "delay": "-1s"}`, `{"payload": 1, "delay": "366d"}`, `{"payload": 1, "delay": "1s", "at": "2030-01-01T00:00:00Z"}`, `{"payload": 1, "x": 1}`,
		`{"payload": 1, "headers": {"": "x"}}`, `{"payload": 1, "source": "` + strings.Repeat("s", 300) + `"}`} {
		r.refused(400, "INVALID", "POST", "/v1/topics/a", body)
	}
	r.refused(400, "INVALID", "POST", "/v1/topics/a", `{"payload": 1, "deliveryId": "a"}`, "Idempotency-Key", "b")
	r.refused(413, "TOO_LARGE", "POST", "/v1/topics/a", `{"payload": "`+strings.Repeat("x", world.MaxMessage)+`"}`)
	const s = "/v1/subscriptions/s"
	for _, body := range []string{
		`{"pattern": "a"}`, `{"queue": "q"}`, `{"pattern": "a*", "queue": "q"}`, `{"pattern": "a", "queue": "q", "workflow": {"name": "w"}}`, `{"pattern": "a", "queue": "a b"}`,
		`{"pattern": "a", "workflow": {}}`, `{"pattern": "a", "workflow": {"name": "w", "key": "{payload"}}`, `{"pattern": "a", "workflow": {"name": "w", "attributes": {"x": "{y}"}}}`,
		`{"pattern": "a", "workflow": {"name": "w", "version": -1}}`, `{"pattern": "a", "match": {"a": , "queue": "q"}`, `{"pattern": "a", "queue": "q", "revision": -1}`,
		`{"pattern": "a", "endpoint": {"url": "example.com"}}`, `{"pattern": "a", "endpoint": {"url": "https://u:p@example.com"}}`, `{"pattern": "a", "endpoint": {"url": "https://example.com", "giveUp": "31d"}}`,
		`{"pattern": "a", "endpoint": {"url": "https://example.com", "secret": "short"}}`, `{"pattern": "a", "endpoint": {"url": "http://127.0.0.1/"}}`, `{"pattern": "a", "endpoint": {"url": "http://localhost/"}}`,
		`{"pattern": "a", "endpoint": {"url": "http://[::ffff:10.0.0.1]/"}}`, `{"pattern": "a", "endpoint": {"url": "https://example.com", "private": true}}`,
	} {
		r.refused(400, "INVALID", "PUT", s, body)
	}
	r.refused(400, "INVALID", "PUT", "/v1/subscriptions/a%20b", `{"pattern": "a", "queue": "q"}`)
	r.refused(400, "INVALID", "GET", "/v1/publications?topic=a*", "")
	r.refused(400, "INVALID", "GET", "/v1/publications?cursor=x", "")
	if a := r.want(200, "GET", "/v1/subscriptions", ""); a.get("subscriptions.0") != nil {
		t.Errorf("something was made: %s", a.body)
	}
	r.want(200, "PUT", "/v1/queues/q", "")
	r.want(200, "PUT", s, `{"pattern": "a", "queue": "q", "revision": 2}`)
	r.refused(409, "CONFLICT", "PUT", s, `{"pattern": "b", "queue": "q", "revision": 1}`)
	for _, act := range []string{"pause", "resume", "redeliver", "rotate-secret"} {
		r.refused(400, "INVALID", "POST", s+"/"+act, "") // its queue is the program's
		r.refused(404, "NOT_FOUND", "POST", "/v1/subscriptions/none/"+act, "")
	}
}

// TestTopicScopes: who reads sees subscriptions and what was published, and only operators change anything.
func TestTopicScopes(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("viewer:eva:" + strings.Repeat("v", 32) + ",operator:otto:" + strings.Repeat("o", 32))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{Keys: keys})
	as := func(letter string) []string { return []string{"Authorization", "Bearer " + strings.Repeat(letter, 32)} }
	body := `{"pattern": "a", "endpoint": {"url": "https://example.com"}}`
	if a := r.want(200, "PUT", "/v1/subscriptions/s", body, as("o")...); a.get("subscription.by") != "otto" {
		t.Errorf("got %s, want by otto", a.body)
	}
	r.want(201, "POST", "/v1/topics/b", `{"payload": 1}`, as("o")...)
	for _, path := range []string{"/v1/subscriptions", "/v1/subscriptions/s", "/v1/publications"} {
		if a := r.want(200, "GET", path, "", as("v")...); strings.Contains(string(a.body), "whsec") || strings.Contains(string(a.body), "secret") {
			t.Errorf("%s shows a secret: %s", path, a.body)
		}
		r.refused(401, "UNAUTHENTICATED", "GET", path, "")
	}
	r.refused(403, "FORBIDDEN", "POST", "/v1/topics/b", `{"payload": 1}`, as("v")...)
	r.refused(403, "FORBIDDEN", "PUT", "/v1/subscriptions/s", body, as("v")...)
	r.refused(403, "FORBIDDEN", "DELETE", "/v1/subscriptions/s", "", as("v")...)
	for _, act := range []string{"pause", "resume", "redeliver", "rotate-secret"} {
		r.refused(403, "FORBIDDEN", "POST", "/v1/subscriptions/s/"+act, "", as("v")...)
	}
}

// posting is an outlet to a handler, and a message for it.
func posting(t *testing.T, to world.PostTarget, private bool) (*courier.Work, *world.Message, world.Messenger) {
	t.Helper()
	w := memory.New()
	s := &world.Subscription{Name: "s", Pattern: "#", Endpoint: &to}
	if err := w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: s.OwnQueue()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Messages().SendMessages(t.Context(), []world.Message{{Queue: s.OwnQueue(), Payload: []byte("1"), Priority: 1}}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Messages().ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: s.OwnQueue(), Limit: 1})
	if err != nil || len(got.Messages) != 1 {
		t.Fatal(got, err)
	}
	m := &world.Message{
		ID: "mesg_1", Receipt: got.Messages[0].Receipt, Receives: 1, SentAt: time.Now(), Payload: []byte(`{"n":1}`),
		Headers: map[string]string{world.HeaderTopic: "a.b", world.HeaderPublication: "publ_1"},
	}
	work := newOutlet(s, slog.New(slog.DiscardHandler), w.Messages(), private)
	t.Cleanup(func() { work.End() })
	return work, m, w.Messages()
}

// TestPostAnswers: what an endpoint answers says what becomes of the message, and a store takes that.
func TestPostAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for name, test := range map[string]struct {
		answer   func(w http.ResponseWriter, r *http.Request)
		receives int
		age      time.Duration
		kind     world.SettleKind
		error    string
		least    time.Duration
		most     time.Duration
	}{
		"well":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 1, 0, world.Ack, "", 0, 0},
		"a failure":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 1, 0, world.Nack, "500 Internal", 3 * time.Second, 5 * time.Second},
		"the sixth failure": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, 6, time.Hour, world.Nack, "404 Not Found", 120 * time.Second, 160 * time.Second},
		"the hundredth":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 100, time.Hour, world.Nack, "500", 45 * time.Minute, time.Hour},
		"too old":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 80, 72 * time.Hour, world.Bury, "given up after 72h", 0, 0},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusMovedPermanently)
		}, 1, 0, world.Nack, "301 Moved Permanently: it is not followed", 0, 5 * time.Second},
		"moved, keeping": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, 1, 0, world.Nack, "not followed", 0, 5 * time.Second},
		"later": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(503)
		}, 1, 0, world.Nack, "503", 10 * time.Minute, 10 * time.Minute},
		"much later": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "999999999")
			w.WriteHeader(429)
		}, 1, 0, world.Nack, "429", 24 * time.Hour, 24 * time.Hour},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			_, _ = c.Write([]byte("what?\n\n"))
			_ = c.Close()
		}, 1, 0, world.Nack, "malformed HTTP", 0, 5 * time.Second},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := http.NewResponseController(w).Hijack()
			_ = c.Close()
		}, 1, 0, world.Nack, "EOF", 0, 5 * time.Second},
		"a flood": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
			t.Error("a whole flood was read")
		}, 1, 0, world.Ack, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(test.answer))
			t.Cleanup(s.Close)
			work, m, keep := posting(t, world.PostTarget{URL: s.URL, Private: true, Secrets: []world.Secret{standard}}, true)
			m.Receives, m.SentAt = test.receives, time.Now().Add(-test.age)
			got := work.Do(t.Context(), m)
			if got.Kind != test.kind || got.Receipt != m.Receipt || !strings.Contains(got.Error, test.error) || got.After < test.least || got.After > test.most {
				t.Errorf("got %+v, want %s %q, after %s to %s", got, test.kind, test.error, test.least, test.most)
			}
			if done, err := keep.SettleMessages(t.Context(), []world.Settlement{got}); err != nil || !done[0] {
				t.Fatalf("the store settles %+v: %v, %v", got, done, err)
			}
			stats, err := keep.Queues(t.Context(), "subscription.s")
			if err != nil || len(stats) != 1 || (stats[0].Counts[world.MessageDead] == 1) != (test.kind == world.Bury) {
				t.Errorf("the queue is %+v, %v", stats, err)
			}
		})
	}
}

// TestPostGone: an endpoint that is gone pauses its subscription, which says why; the message stays.
func TestPostGone(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }))
	t.Cleanup(s.Close)
	work, m, queues := posting(t, world.PostTarget{URL: s.URL, Private: true}, true)
	if got := work.Do(t.Context(), m); got.Kind != world.Nack || !strings.Contains(got.Error, "the subscription is paused") {
		t.Errorf("got %+v", got)
	}
	q, err := queues.Queues(t.Context(), "subscription.s")
	if err != nil || q[0].Paused == nil || q[0].Paused.By != "stepwell" || !strings.Contains(q[0].Paused.Reason, "410 Gone") {
		t.Errorf("its queue: %+v %v", q, err)
	}
}

// TestPostPrivate: addresses that are none of the internet are refused when they are connected to, unless both allow
// them.
func TestPostPrivate(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	for _, c := range []struct{ asked, allowed, want bool }{{false, false, false}, {true, false, false}, {false, true, false}, {true, true, true}} {
		work, m, _ := posting(t, world.PostTarget{URL: strings.Replace(s.URL, "127.0.0.1", "localhost", 1), Private: c.asked}, c.allowed)
		if got := work.Do(t.Context(), m); (got.Kind == world.Ack) != c.want || !c.want && !strings.Contains(got.Error, "both must allow it") {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
	for text, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700:4700::1111": true, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "::": false, "fe80::1": false, "fd00::1": false, "::ffff:10.0.0.1": false,
		"::ffff:1.1.1.1": true, "64:ff9b::a00:1": false, "::ffff:0:a00:1": false, "2002:a00:1::": false, "::a00:1": false, "2001:db8::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is public: %v, want %v", text, got, want)
		}
	}
}

// TestPostCircuit: an endpoint that is away is asked seldom, by one message, until it answers; what it answers with an
// error for is its own matter.
func TestPostCircuit(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // nobody is there
	s := &world.Subscription{Name: "s", Endpoint: &world.PostTarget{URL: "http://" + l.Addr().String(), Private: true}}
	o := &outlet{log: slog.New(slog.DiscardHandler), circuit: circuit{most: 5, reset: 5 * time.Second, state: circuitClosed}}
	for range 5 {
		if n, wait := o.room(postParallel); n != postParallel || wait != 0 {
			t.Fatalf("closed: room for %d, %s", n, wait)
		}
		o.answered(errors.New("no route"))
	}
	if n, wait := o.room(postParallel); n != 0 || wait < 3*time.Second {
		t.Errorf("open: room for %d, wait %s", n, wait)
	}
	o.circuit.until = time.Now()
	if n, _ := o.room(postParallel); n != 1 {
		t.Errorf("half open: room for %d, want 1", n)
	}
	if n, _ := o.room(postParallel - 1); n != 0 {
		t.Errorf("half open, and one is under way: room for %d, want none", n)
	}
	o.answered(fmt.Errorf("%w 404", errAnswered))
	if n, _ := o.room(3); n != 3 {
		t.Errorf("closed again: room for %d, want 3", n)
	}
	work, m, _ := posting(t, *s.Endpoint, true)
	for i := range 5 {
		if got := work.Do(t.Context(), m); got.Kind != world.Nack || !strings.Contains(got.Error, "refused") {
			t.Fatalf("%d: got %+v", i, got)
		}
	}
	if n, _ := work.Room(postParallel); n != 0 {
		t.Errorf("after five failures there is room for %d", n)
	}
}

// TestPostEnds: a server that ends gives back what it posts just now, and that receive does not count.
func TestPostEnds(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(began)
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	work, m, _ := posting(t, world.PostTarget{URL: s.URL, Private: true}, true)
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-began; stop() }()
	if got := work.Do(ctx, m); got.Kind != world.Unread {
		t.Errorf("got %+v, want it unread", got)
	}
}

// TestHiddenSecretSignsNothing: a server without the key of an endpoint's secret posts nothing to it: it would be
// unsigned.
func TestHiddenSecretSignsNothing(t *testing.T) {
	t.Parallel()
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was posted") }))
	t.Cleanup(to.Close)
	work, m, _ := posting(t, world.PostTarget{URL: to.URL, Private: true, Secrets: []world.Secret{world.EncryptedSecret("k1", "x"), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}, true)
	if s := work.Do(t.Context(), m); s.Kind != world.Unread || !strings.Contains(s.Error, `"k1"`) || s.After <= 0 {
		t.Errorf("got %+v", s)
	}
}
