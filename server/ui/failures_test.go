package ui_test

// What did not end well, by its cause, and what is done to all of a cause at once.

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

var bankIsBack atomic.Bool

// pay fails of two things, until the bank is back.
var pay = stepwell.Define("pay", func(ctx stepwell.Context, n int) (int, error) {
	return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
		switch {
		case bankIsBack.Load():
			return n, nil
		case n%3 == 0:
			return 0, stepwell.Fatal(fmt.Errorf("card %d is blocked", 1000+n))
		}
		return 0, stepwell.Fatal(errors.New("no bank"))
	})
})

var causeForm = regexp.MustCompile(`(?s)<tr><td class="num" data-label="runs?"><strong>(\d+)</strong>.*?</tr>`)

func TestFailuresByCause(t *testing.T) {
	s := newSite(t, server.Options{}, pay)
	s.want("/ui/failures", "Nothing failed, nothing is blocked, and nothing waits for its next attempt.")
	for i := range 9 {
		id := fmt.Sprintf("pay-%d", i)
		if _, err := pay.Start(t.Context(), s.App, i, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
	}
	for _, id := range []string{"imp-1", "imp-2"} {
		if _, err := uitest.Broken.Start(t.Context(), s.App, "a.csv", stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyBlocked)
	}
	p := s.want("/ui/failures", "no bank", "card 1006 is blocked", "column 7 is not a date", "PANIC", ">Retry…<", ">Retry…<", ">Try now…<")
	rows := causeForm.FindAllStringSubmatch(p.body, -1)
	if len(rows) != 3 || rows[0][1] != "6" || rows[1][1] != "3" || rows[2][1] != "2" {
		t.Fatalf("got %d causes, want three, of 6, 3 and 2 runs: %v", len(rows), rows)
	}
	if p := s.want("/ui/failures?workflow=pay&since=1h", "no bank"); strings.Contains(p.body, "PANIC") {
		t.Error("a filter by workflow shows another")
	}
	links := regexp.MustCompile(`href="(/ui/runs\?status[^"]+)"`).FindAllStringSubmatch(p.body, -1)
	for _, link := range links {
		s.want(html.UnescapeString(link[1]))
	}
	if len(links) != 3 {
		t.Errorf("it links to %v, want the lists of failed, of blocked and of waiting runs", links)
	}
	if p := s.get("/ui/failures?since=soon"); p.status != http.StatusBadRequest {
		t.Errorf("since=soon: got %d, want 400", p.status)
	}

	bankIsBack.Store(true)
	fields := append(causeFields(t, rows[0][0]), "act", "retry", "back", "/ui/failures")
	if p := s.post("/ui/runs/act", fields...); !strings.Contains(p.body, "Retry 6 runs?") || !strings.Contains(p.body, `href="/ui/failures">Not now`) {
		t.Errorf("it asks: %.3000s", p.body)
	}
	if p := s.post("/ui/runs/act", append(fields, "sure", "yes")...); !strings.Contains(p.body, "Done: <strong>6</strong>") || !strings.Contains(p.body, `href="/ui/failures">Back`) {
		t.Errorf("it tells: %.3000s", p.body)
	}
	p = s.want("/ui/failures", "6 more failed and were replaced by a retry or a restart", "card 1006 is blocked")
	if strings.Contains(p.body, "no bank") {
		t.Error("what was healed is listed")
	}
	if p := s.post("/ui/runs/act", "act", "retry", "all", "yes", "query", "status=failed", "back", "https://elsewhere.example/"); strings.Contains(p.body, "elsewhere") {
		t.Error("the page leads to another site")
	}
}

// causeFields are the fields of the form of a cause that say which runs are meant.
func causeFields(t *testing.T, row string) (fields []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`name="(query|all)" value="([^"]+)"`).FindAllStringSubmatch(row, -1) {
		fields = append(fields, m[1], html.UnescapeString(m[2]))
	}
	if len(fields) != 4 {
		t.Fatalf("a form with %q: %s", fields, row)
	}
	return fields
}

// TestAllRunsOfACause: the button of a cause is for all of its runs, as many as the cause counts, and for no others.
func TestAllRunsOfACause(t *testing.T) {
	t.Parallel()
	const lost = 230
	healed := new(atomic.Bool)
	send := stepwell.Define("send", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "post", func(context.Context) (int, error) {
			switch {
			case healed.Load():
				return n, nil
			case n >= lost:
				return 0, stepwell.Fatal(errors.New("no such letter"))
			}
			return 0, stepwell.Fatal(fmt.Errorf("letter %d: the post is closed", n))
		})
	})
	s := newSite(t, server.Options{}, send)
	for i := range lost + 3 {
		if _, err := send.Start(t.Context(), s.App, i, stepwell.RunID(fmt.Sprintf("send-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range lost + 3 {
		s.Until(fmt.Sprintf("send-%d", i), stepwell.WhyOver)
	}
	p := s.want("/ui/failures", ">Retry…<", ">Retry…<")
	s.want("/ui/failures?failedSince=1h", ">Retry…<")
	if p := s.want("/ui/failures?failedSince=2099-01-01"); strings.Contains(p.body, ">Retry") {
		t.Error("what failed before is among what failed since")
	}
	fields := append(causeFields(t, causeForm.FindString(p.body)), "act", "retry", "back", "/ui/failures")
	if p := s.post("/ui/runs/act", fields...); !strings.Contains(p.body, "Retry 230 runs?") || !strings.Contains(p.body, "all runs with this cause") ||
		!strings.Contains(p.body, ">Retry them<") {
		t.Errorf("it asks: %.3000s", p.body)
	}
	healed.Store(true)
	if p := s.post("/ui/runs/act", append(fields, "sure", "yes")...); !strings.Contains(p.body, "Done: <strong>230</strong>") || strings.Contains(p.body, "There are more") {
		t.Errorf("it tells: %.3000s", p.body)
	}
	p = s.want("/ui/failures", "230 more failed and were replaced by a retry or a restart", ">Retry…<", "no such letter")
	if strings.Contains(p.body, "the post is closed") {
		t.Error("what was healed is listed")
	}
	if p := s.post("/ui/runs/act", append(fields, "sure", "yes")...); !strings.Contains(p.body, "Done: <strong>0</strong>") {
		t.Errorf("the form is sent again: %.3000s", p.body)
	}
}

// TestFailuresOfViewers: who may not act sees the causes, and no button.
func TestFailuresOfViewers(t *testing.T) {
	t.Parallel()
	s := busySite(t, uitest.Locked(t))
	s.login(uitest.ViewerSecret)
	if p := s.want("/ui/failures", "nothing to pay"); strings.Contains(p.body, `name="act"`) {
		t.Error("a viewer has a button")
	}
}

// TestPreviewSaysWhatIsRefused: a preview and its button count what would be done; the rest is there with its reason, and
// the button of a cause is for what its runs can have.
func TestPreviewSaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	trip := stepwell.Define("trip", func(ctx stepwell.Context, undo bool) (int, error) {
		if undo {
			if err := stepwell.Do(ctx, "book", func(context.Context) error { return nil }); err != nil {
				return 0, err
			}
			stepwell.AddUndo(ctx, "cancel-booking", func(context.Context, any) error { return nil }, nil)
		}
		return stepwell.Step(ctx, "fly", func(context.Context) (int, error) { return 0, stepwell.Fatal(errors.New("no wings")) })
	})
	s := newSite(t, server.Options{}, trip)
	for i := range 5 {
		id := fmt.Sprintf("trip-%d", i)
		if _, err := trip.Start(t.Context(), s.App, i > 1, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
	}
	s.want("/ui/failures", ">Restart…<")
	all := []string{"query", "status=failed", "all", "yes", "act"}
	p := s.post("/ui/runs/act", append(all, "retry")...)
	for _, want := range []string{"Retry 2 runs?", "3 will be refused:", "<strong>3</strong>, such as", "cancel-booking"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the preview lacks %q: %.3000s", want, p.body)
		}
	}
	if p := s.post("/ui/runs/act", append(all, "retry", "sure", "yes")...); !strings.Contains(p.body, "Done: <strong>2</strong>") || !strings.Contains(p.body, "3 refused:") {
		t.Errorf("it tells: %.3000s", p.body)
	}
	if p := s.post("/ui/runs/act", append(all, "restart")...); !strings.Contains(p.body, "Restart ") || strings.Contains(p.body, "will be refused") {
		t.Errorf("the preview of a restart: %.3000s", p.body)
	}
}
