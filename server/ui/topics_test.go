package ui_test

// Topics: what the page shows, and what is done on it.

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

func TestTopicPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/topics", "There is no subscription", "Nothing was published")
	letters(s)
	s.post("/ui/topics/subscribe", "name", "books", "pattern", "order.#", "match", `{"n":"<b>"}`, "kind", "queue", "to", "mails")
	s.post("/ui/topics/subscribe", "name", "ship", "pattern", "order.*", "kind", "workflow", "to", "ship", "key", "k-{payload.n}")
	if p := s.post("/ui/topics/subscribe", "name", "bill", "pattern", "#", "kind", "endpoint", "to", "https://example.com/in"); !strings.Contains(p.body, "whsec_") || p.status != 200 {
		t.Errorf("the secret is not shown: %d %s", p.status, p.body)
	}
	s.post("/ui/topics/bill/pause", "reason", "they <move>")
	if p := s.want("/ui/topics", "they &lt;move&gt;", "&lt;b&gt;", "https://example.com/in", "queue mails", `href="/ui/workflows/ship"`, `href="/ui/queues/subscription.bill"`, ">Resume<"); strings.Contains(p.body, "whsec") {
		t.Error("a secret is shown again")
	}
	s.post("/ui/topics/publish", "topic", "order.paid", "payload", `{"a":"<i>"}`, "id", "a")
	s.want("/ui/topics?did=publish", "It is published", "order.paid", "&lt;i&gt;")
	s.want("/ui/topics?topic=other.*", "Nothing was published under such a topic")
	s.post("/ui/topics/bill/resume")
	s.post("/ui/topics/bill/redeliver")
	if p := s.post("/ui/topics/bill/rotate"); !strings.Contains(p.body, "whsec_") {
		t.Error("the new secret is not shown")
	}
	s.post("/ui/topics/bill/unsubscribe")
	if p := s.want("/ui/topics"); strings.Contains(p.body, "example.com") {
		t.Error("what was ended is there yet")
	}
	for path, status := range map[string]int{"/ui/topics/bill/pause": 404, "/ui/topics/books/pause": 400, "/ui/topics/ship/explode": 404, "/ui/topics/ship/rotate": 400, "/ui/topics/subscribe": 400, "/ui/topics/publish": 400} {
		if p := s.post(path); p.status != status {
			t.Errorf("%s: got %d, want %d", path, p.status, status)
		}
	}
	if p := s.post("/ui/topics/subscribe", "name", "inner", "pattern", "#", "kind", "endpoint", "to", "http://127.0.0.1:9/in"); p.status != 400 || !strings.Contains(p.body, "private network") {
		t.Errorf("an endpoint of this machine: %d %s", p.status, p.body)
	}
	if p := s.get("/ui/topics?topic=a*"); p.status != 400 {
		t.Errorf("a bad pattern: got %d, want 400", p.status)
	}
	if log := s.Log.String(); !strings.Contains(log, `what="ui subscribe"`) || !strings.Contains(log, "subscription=bill") || strings.Contains(log, "whsec") {
		t.Error("the audit log should have the acts, and no secret")
	}
}

// TestTopicPagesOfViewers: who may not act sees all but forms.
func TestTopicPagesOfViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t, uitest.Locked(t))
	s.login(uitest.ViewerSecret)
	if p := s.want("/ui/topics", "There is no subscription"); strings.Contains(p.body, "Subscribe<") || strings.Contains(p.body, "Publish<") {
		t.Error("a viewer has a form")
	}
	for _, path := range []string{"/ui/topics/publish", "/ui/topics/subscribe", "/ui/topics/s/pause"} {
		if p := s.post(path); p.status != 403 {
			t.Errorf("a viewer posts to %s: got %d, want 403", path, p.status)
		}
	}
}
