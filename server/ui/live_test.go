package ui_test

// Pages hear of news: a run's log that grows, its end, the pieces of a stream; and the charts count what they say they do.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world/sqlite"
)

// messages follows a page's source until it ends, and hands out each message as its lines.
func (s *site) messages(path string) (next func() string, stop func()) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second) // or what does not come would be waited for
	s.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		s.Fatalf("%s: got %d, %s", path, resp.StatusCode, got)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		s.Helper()
		var msg []string
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, ":"):
			case line != "":
				msg = append(msg, line)
			case len(msg) > 0:
				return strings.Join(msg, "|")
			}
		}
		return "over"
	}, func() { _ = resp.Body.Close() }
}

func TestLive(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{MaxWaiting: 1, Heartbeat: 5 * time.Millisecond})
	s.Start("l-1", uitest.Order{Customer: "ada", Cents: 9})
	s.Until("l-1", stepwell.WhyEvent)
	at := between(s.get("/ui/runs/l-1").body, `data-live="`, `"`)
	next, stop := s.messages(at)
	defer stop()
	if p := s.get(at); p.status != http.StatusTooManyRequests {
		t.Errorf("one more than may follow: got %d, want 429", p.status)
	}
	if err := s.App.Signal(t.Context(), "l-1", "paid", json.RawMessage(`{"customer": "ada"}`)); err != nil {
		t.Fatal(err)
	}
	if got := next(); !strings.HasPrefix(got, "id: ") || !strings.HasSuffix(got, `|event: change|data: ""`) {
		t.Errorf("got %q, want a change", got)
	}
	if err := s.App.ForceCancel(t.Context(), "l-1", ""); err != nil {
		t.Fatal(err)
	}
	last := next()
	for strings.Contains(last, "event: change") {
		last = next()
	}
	if !strings.HasSuffix(last, `|event: end|data: "cancelled"`) || next() != "over" {
		t.Errorf("got %q, want the end, and nothing behind it", last)
	}
	for path, status := range map[string]int{"/ui/runs/none/live": 404, "/ui/runs/l-1/streams/%20%0a/live": 400} {
		if p := s.get(path); p.status != status {
			t.Errorf("%s: got %d, want %d", path, p.status, status)
		}
	}
	tail, end := s.messages("/ui/runs/l-1/streams/note/live?from=2")
	defer end()
	if got := tail(); got != `id: 10|event: text|data: "your parcel is packed and waits for the courier. "` {
		t.Errorf("got %q, want the stream from chunk 2 on", got)
	}
	if got := tail(); !strings.Contains(got, "event: end") {
		t.Errorf("got %q, want the end", got)
	}
}

// TestOnSQLite: on a file all is as in memory, and what the charts say they say after a restart too.
func TestOnSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	for round := range 2 {
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			s := newSiteOn(t, w, server.Options{})
			if round == 0 {
				s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200, Items: []string{"lamp"}})
				s.Start("o-2", uitest.Order{Customer: "bob", Cents: 0})
			}
			s.Until("o-1", stepwell.WhyEvent)
			s.Until("o-2", stepwell.WhyOver)
			s.untilPage("/ui/workers", "tester") // which goes on with nothing in the second round
			for path, text := range map[string]string{
				"/ui/":                     "<strong>3</strong> runs began",
				"/ui/runs?attr.city=Ulm":   "o-2",
				"/ui/runs?input.cents=0":   "o-2",
				"/ui/runs?status=failed":   "o-2",
				"/ui/runs/o-1":             "waiting for event",
				"/ui/runs/o-1/events":      "run_created",
				"/ui/runs/o-1/events/1":    "run_created",
				"/ui/runs/o-1/events?end=": "run_created",
				"/ui/workers":              "tester",
				"/ui/hooks":                "courier-ada",
			} {
				s.want(path, text)
			}
			if p := s.want("/ui/", "<strong>1</strong> of them failed", "50.0 % of those that ended"); strings.Contains(p.body, "More runs began") {
				t.Error("three runs are too many to count")
			}
		})
	}
}

// TestChartIsBounded: where more began than is counted, the charts say so.
func TestChartIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	for i := range 2100 {
		if _, err := s.App.Start(t.Context(), "no-worker", json.RawMessage(`1`), stepwell.RunID(fmt.Sprint("n-", i))); err != nil {
			t.Fatal(err)
		}
	}
	s.want("/ui/?window=168", "<strong>2000</strong> runs began", "More runs began in this time than are counted here: these are the newest 2000.", "no worker knows it")
}
