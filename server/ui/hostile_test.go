package ui_test

// What is hostile, or too much: payloads, names, attributes, errors, chunks and tokens that are HTML, JavaScript or turn the direction of writing; runs with
// thousands of events; values as large and as deep as they may be.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

// long has many steps.
var long = stepwell.Define("long", func(ctx stepwell.Context, n int) (int, error) {
	for i := range n {
		if err := stepwell.Do(ctx, "tick", func(context.Context) error { return nil }); err != nil {
			return i, err
		}
	}
	return n, nil
})

// TestHostile: whatever runs say of themselves, and visitors ask for, is text on the page.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, uitest.Hostile)
	s.StartHostile()
	pages := []string{
		"/ui/", "/ui/runs", "/ui/runs/bad-1", "/ui/runs/bad-1/events", "/ui/hooks", "/ui/runs/bad-1/act/fork?at=3", "/ui/runs/bad-1/act/signal",
		"/ui/runs/bad-1/act/restart", "/ui/runs/bad-1/streams/" + url.PathEscape(uitest.EvilName()), "/ui/workflows",
		"/ui/failures", "/ui/runs/bad-1/family",
	}
	for seq := range 14 {
		pages = append(pages, fmt.Sprintf("/ui/runs/bad-1/events/%d", seq+1))
	}
	for _, text := range uitest.Evil {
		q := url.QueryEscape(text)
		pages = append(pages, "/ui/runs?attr.x="+q, "/ui/runs?input."+q+"="+q, "/ui/runs?since="+q, "/ui/runs?status="+q, "/ui/runs?workflow="+q, "/ui/runs?cursor="+q,
			"/ui/runs/bad-1/events?about="+q, "/ui/runs/bad-1/events?type="+q+"&from="+q, "/ui/runs/bad-1/act/signal?event="+q, "/ui/runs/bad-1/act/fork?at="+q,
			"/ui/hooks?run="+q+"&token="+q, "/ui/find?search="+q, "/ui/runs/"+url.PathEscape(text), "/ui/login?next="+q, "/ui/workers/"+url.PathEscape(text), "/ui/?window="+q,
			"/ui/runs/bad-1?did="+q+"&refresh="+q+"&page="+q, "/ui/workflows/"+url.PathEscape(text)+"/start", "/ui/runs/bad-1/streams/"+url.PathEscape(text),
			"/ui/runs?sort="+q, "/ui/runs/bad-1?in="+q+"&zoom="+q+"&scale="+q+"&"+q+"="+q, "/ui/failures?workflow="+q, "/ui/failures?since="+q, "/ui/workflows/"+url.PathEscape(text),
			"/ui/runs/"+url.PathEscape(text)+"/family")
	}
	shown := 0
	for _, path := range pages {
		p := s.get(path)
		if p.status >= 500 {
			t.Errorf("%s: got %d: %.400s", path, p.status, p.body)
		}
		if got := p.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			continue // a path that the server itself refuses
		}
		shown += strings.Count(p.body, "window.hacked")
		for n := range wellFormed(t, path, p.body).Descendants() {
			if n.Type == html.ElementNode && (n.Data == "iframe" || n.Data == "script" && attr(n, "src") == "" || n.Data == "img" && attr(n, "src") == "x" || has(n, "onload") || has(n, "onerror")) {
				t.Errorf("%s: <%s> got through", path, n.Data)
			}
			if href := attr(n, "href"); n.Data == "a" && !strings.HasPrefix(href, "/ui/") && !strings.HasPrefix(href, "#") && href != "/docs/" && href != "/docs/tutorial/1-order.html" {
				t.Errorf("%s: a link to %q", path, href)
			}
		}
	}
	if shown < 100 {
		t.Errorf("hostile texts are shown %d times: the test looks at too little", shown)
	}
	for _, turned := range []string{"\u202e", "\u2066", "\x07", "\u200b"} {
		if err := s.App.Signal(t.Context(), "bad-1", "turned", json.RawMessage(`"a`+strings.ReplaceAll(turned, "\x07", `\u0007`)+`b"`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.App.Wake(t.Context(), "bad-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.App.Resume(t.Context(), "bad-1"); err != nil {
		t.Fatal(err)
	}
	s.untilPage("/ui/runs/bad-1/events?type=signal_received", `a\u202eb`)
	if p := s.get("/ui/runs/bad-1/events?type=signal_received"); strings.ContainsAny(p.body, "\u202e\u2066\u200b") {
		t.Error("signs that turn the direction of writing are not written out")
	}
}

// untilPage waits for a page to have a text.
func (s *site) untilPage(path, text string) {
	s.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		p := s.get(path)
		if strings.Contains(p.body, text) {
			return
		}
		if time.Now().After(limit) {
			s.Fatalf("waited 20 s for %q on %s: %.3000s", text, path, p.body)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}

// TestBounded: a run with thousands of events, and payloads of a megabyte, are shown in pages of a bounded size; nothing is left out.
func TestBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, long)
	const steps = 1500 // and so 4,500 events and more
	if _, err := long.Start(t.Context(), s.App, steps, stepwell.RunID("long-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("long-1", stepwell.WhyOver)
	const most = 1 << 20
	p := s.want("/ui/runs/long-1", "1401 to 1500 of 1500", "« First", "tick[1499]")
	wellFormed(t, "long", p.body)
	if len(p.body) > most {
		t.Errorf("the page of a long run has %d bytes, want at most %d", len(p.body), most)
	}
	if p := s.want("/ui/runs/long-1?page=1", "1 to 100 of 1500", "Last »"); len(p.body) > most {
		t.Errorf("its first page has %d bytes", len(p.body))
	}
	seen, next := 0, "/ui/runs/long-1/events?type=step_completed"
	for range 3 * steps / 100 {
		p := s.want(next)
		if len(p.body) > most {
			t.Fatalf("%s has %d bytes", next, len(p.body))
		}
		seen += strings.Count(p.body, `<li id="e`)
		if next = html.UnescapeString(between(p.body, `<a href="/ui/runs/long-1/events?`, `" rel="next"`)); !strings.Contains(p.body, `rel="next"`) {
			break
		}
		next = "/ui/runs/long-1/events?" + next[strings.LastIndex(next, "?")+1:]
	}
	if seen != steps {
		t.Errorf("all pages together have %d events, want %d", seen, steps)
	}
	s.want("/ui/runs/long-1/events?end=1", "run_completed")

	large := `{"a": "` + strings.Repeat("x", 1000<<10) + `"}`
	deep := strings.Repeat(`[`, world.MaxDepth) + strings.Repeat(`]`, world.MaxDepth)
	wide := "[" + strings.Repeat("1,", 300_000) + "1]"
	for name, payload := range map[string]string{"large": large, "deep": deep, "wide": wide} {
		if _, err := s.App.Start(t.Context(), "no-worker", json.RawMessage(payload), stepwell.RunID(name)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"", "/events", "/events/1", "/act/fork", "/act/restart"} {
			p := s.get("/ui/runs/" + name + path)
			if p.status != http.StatusOK || len(p.body) > 2<<20 {
				t.Errorf("%s%s: got %d, %d bytes", name, path, p.status, len(p.body))
			}
			if path == "" {
				wellFormed(t, name, p.body)
			}
		}
		if p := s.get("/ui/runs/" + name + "/events/1/payload"); p.body != payload || !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: saved are %d bytes, want %d, as an attachment", name, len(p.body), len(payload))
		}
	}
	if why, err := s.App.Why(t.Context(), "wide"); err != nil || why.Kind != stepwell.WhyNoWorker {
		t.Errorf("got %v, %v", why, err)
	}
}
