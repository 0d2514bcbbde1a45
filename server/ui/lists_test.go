package ui_test

// Lists that look at more than they show.

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestAFilterSaysHowFarItLooked: a page of a filter that few fit looks at so many runs, says back to when, and has a way on.
func TestAFilterSaysHowFarItLooked(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.ManyRuns()
	p := s.want("/ui/runs?input.n=none", "Looked at runs back to <time", ">Go on</a>", "among those that were examined")
	_, rest, _ := strings.Cut(p.body, `about looked">`)
	_, rest, _ = strings.Cut(rest, `<a href="`)
	on, _, _ := strings.Cut(rest, `"`)
	if p := s.want(strings.ReplaceAll(on, "&amp;", "&"), "No run fits."); strings.Contains(p.body, "Looked at runs back to") {
		t.Error("the last page says that there is more")
	}
	if p := s.want("/ui/runs", "Older »"); strings.Contains(p.body, "Looked at runs back to") {
		t.Error("a full page says how far it looked")
	}
}

// TestFindByWhatPeopleKnow: the search box leads to the run that fits, by key, ID, its beginning and an attribute, or to the list of all that do; the list shows
// keys and priorities, and its boxes have every word that runs are filtered by.
func TestFindByWhatPeopleKnow(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	for i, id := range []string{"order-4711:a", "order-4712:b"} {
		if _, err := uitest.Filler.Start(s.Context(), s.App, i, stepwell.RunID(id), stepwell.Key(fmt.Sprintf("key <%d>", i)), stepwell.Priority(4),
			stepwell.Attributes(map[string]any{"city": fmt.Sprintf("Ulm %d", i)})); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"key <1>", "order-4712:b", "order-4712", "city=Ulm 1", " order-4712:b "} {
		if p := s.get("/ui/find?" + url.Values{"search": {text}}.Encode()); p.status != 200 || p.at.Path != "/ui/runs/order-4712:b" {
			t.Errorf("%q: got %d, %s, want a way to the run", text, p.status, p.at)
		}
	}
	for _, text := range []string{"filler", "order-471", "nothing"} {
		if p := s.get("/ui/find?" + url.Values{"search": {text}}.Encode()); p.status != 200 || p.at.RequestURI() != "/ui/runs?search="+text {
			t.Errorf("%q: got %d, %s, want a way to the list", text, p.status, p.at)
		}
	}
	s.want("/ui/runs?search=order-471", "order-4711:a", "order-4712:b", "key key &lt;1&gt;", `data-label="priority">4<`, `value="sleeping"`, `value="blocked"`, `value="waiting"`)
	s.want("/ui/runs?search=nothing", "No run fits.")
	s.want("/ui/runs?status=blocked&roots=true&version=2", "No run fits.")
	if p := s.get("/ui/runs?status=asleep"); p.status != 400 {
		t.Errorf("a status that there is not: got %d, want 400", p.status)
	}
}

// TestMergedKeys: the key of a start that was merged into another finds that run, which says so.
func TestMergedKeys(t *testing.T) {
	t.Parallel()
	write := stepwell.Define("write", func(_ stepwell.Context, all []int) (int, error) { return len(all), nil }, stepwell.Batch{Size: 10, Wait: time.Hour})
	s := newSite(t, server.Options{}, write)
	id := ""
	for i, key := range []string{"order-1", "order-2"} {
		run, err := write.Start(s.Context(), s.App, []int{i}, stepwell.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		id = run.ID()
	}
	const merged = `was merged into this run">merged<`
	s.want("/ui/runs?search=order-2", id, merged)
	if p := s.want("/ui/runs?search=order-1", id); strings.Contains(p.body, merged) {
		t.Error("the run with its own key is said to be merged")
	}
}

// TestNoPageHoldsOneRun: the run that would stand on the last page by itself stands on the one before.
func TestNoPageHoldsOneRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	for i := range 52 {
		if _, err := uitest.Filler.Start(s.Context(), s.App, i, stepwell.RunID(fmt.Sprint("filler-", i))); err != nil {
			t.Fatal(err)
		}
		rows, more := 0, false
		if i >= 48 {
			p := s.want("/ui/runs")
			rows, more = strings.Count(p.body, `<td class="what">`), strings.Contains(p.body, "Older »")
		}
		switch {
		case i == 50 && (rows != 51 || more):
			t.Errorf("of 51 runs: %d on the first page, and more: %t", rows, more)
		case i == 51 && (rows != 50 || !more):
			t.Errorf("of 52 runs: %d on the first page, and more: %t", rows, more)
		case i >= 48 && i < 50 && (rows != i+1 || more):
			t.Errorf("of %d runs: %d on the first page, and more: %t", i+1, rows, more)
		}
	}
}

// TestNoPageHoldsOneRow: nor does a page of an event log, of messages or of schedules, and none is empty.
func TestNoPageHoldsOneRow(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, one)
	page := func(path, row string, want int, more bool) {
		t.Helper()
		p := s.want(path)
		if rows, on := strings.Count(p.body, row), strings.Contains(p.body, `rel="next"`) || strings.Contains(p.body, ">More</a>"); rows != want || on != more {
			t.Errorf("%s: %d rows, and more: %t; want %d, %t", path, rows, on, want, more)
		}
	}
	for _, n := range []int{100, 101, 102} {
		id := fmt.Sprint("steps-", n)
		if _, err := one.Start(t.Context(), s.App, n, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
		page("/ui/runs/"+id+"/events?type=step_completed", `<li id="e`, min(n, 100+n%2), n > 101)
		page("/ui/runs/"+id+"/events", `<li id="e`, 100, true)
	}
	k, ctx := s.World.Messages(), t.Context()
	if err := k.DeclareQueue(ctx, world.MessageQueue{Name: "mails"}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 52; n++ {
		if _, err := k.SendMessages(ctx, []world.Message{{Queue: "mails", Payload: []byte(`"x"`)}}); err != nil {
			t.Fatal(err)
		}
		if n >= 50 {
			page("/ui/queues/mails?state=ready", `<td class="what">`, min(n, 50+n%2), n > 51)
		}
	}
	for n := 1; n <= 102; n++ {
		s.post("/ui/schedules/put", "name", fmt.Sprintf("nightly-%03d", n), "workflow", "order", "times", "@daily")
		if n >= 100 {
			page("/ui/schedules", `<td class="what">`, min(n, 100+n%2), n > 101)
		}
	}
}

// TestListsMarkWhatWasHealed: a run that failed, and has another in its place, says so, with the way there.
func TestListsMarkWhatWasHealed(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.Start("o-bad", uitest.Order{Customer: "ada"}) // nothing to pay
	s.Until("o-bad", stepwell.WhyOver)
	if p := s.want("/ui/runs"); strings.Contains(p.body, "retried:") {
		t.Error("it is marked before it was retried")
	}
	if _, err := s.App.Restart(t.Context(), "o-bad", stepwell.RestartOptions{ID: "o-good", InPlace: true, Input: []byte(`{"customer":"ada","cents":5}`)}); err != nil {
		t.Fatal(err)
	}
	s.Until("o-good", stepwell.WhyEvent)
	s.want("/ui/runs", `<a class="heir" href="/ui/runs/o-good" title="Retried as o-good">retried: running</a>`)
	s.want("/ui/runs?status=failed", `href="/ui/runs/o-good"`)
}

// TestNothingHasRun: where there is no run yet, pages say how to begin: with the program of the docs where there is no
// worker either, with what starts a run elsewhere.
func TestNothingHasRun(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/dev.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, server.Options{})
	for limit := time.Now().Add(20 * time.Second); !strings.Contains(s.want("/ui/").body, "A worker is there"); {
		if time.Now().After(limit) {
			t.Fatal("no worker joins")
		}
	}
	host := strings.TrimPrefix(s.Base, "http://")
	s.want("/ui/runs", "A worker is there, and has import-file", `href="/ui/workflows/import-file/start"`, "curl -d &#39;{&#34;input&#34;: &#34;ada&#34;}&#39; http://"+host+"/v1/workflows/import-file/runs")

	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(app, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/ui/", "/ui/runs"} {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:7373"+path, nil))
		code := html.UnescapeString(between(w.Body.String(), `id="begin-code" tabindex="0">`, "</pre>"))
		if code == "" || !strings.Contains(string(text), "```go\n"+code+"```\n") {
			t.Errorf("%s: the code is not that of docs/dev.md, which is compiled: %s", path, code)
		}
		if !strings.Contains(w.Body.String(), "http://localhost:7373/v1/workflows/hello/runs") {
			t.Errorf("%s: nothing to start a run with", path)
		}
		wellFormed(t, path, w.Body.String())
	}
	if err := app.World().Close(); err != nil {
		t.Fatal(err)
	}
}

// distant is a world whose first page of a filter has no run: it has looked at as many as it does at once.
type distant struct{ *memory.World }

func (w distant) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	switch {
	case len(q.Status) > 0 && q.Cursor == "":
		return world.RunPage{Cursor: "far"}, nil
	case q.Cursor == "far":
		q.Cursor = ""
	}
	return w.World.Runs(ctx, q)
}

// TestWhatFailedIsFoundBehindMany: a list by status goes on where the store has looked at many and found none, as over REST.
func TestWhatFailedIsFoundBehindMany(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, distant{memory.New()}, server.Options{})
	s.Start("o-2", uitest.Order{Customer: "bob", Cents: 0})
	s.Until("o-2", stepwell.WhyOver)
	if p := s.want("/ui/runs?status=failed", "o-2"); strings.Contains(p.body, "Looked at runs back to") {
		t.Error("it stopped on the way")
	}
}
