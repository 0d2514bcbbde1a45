package ui_test

// How a visitor looks at lists: saved filters, columns, and what a page is sorted by.

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

func TestViewsColumnsAndSort(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, uitest.Filler)
	for i, priority := range []int{2, 4, 1} {
		id := fmt.Sprintf("run-%d", i)
		if _, err := uitest.Filler.Start(s.Context(), s.App, i, stepwell.RunID(id), stepwell.Key("key-"+id), stepwell.Priority(priority)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
	}
	order := func(path string) (ids []string) {
		for part := range strings.SplitSeq(s.want(path).body, `<a href="/ui/runs/run-`) {
			ids = append(ids, part[:1])
		}
		return ids[1:]
	}
	for path, want := range map[string][]string{
		"/ui/runs": {"2", "1", "0"}, "/ui/runs?sort=priority": {"1", "0", "2"}, "/ui/runs?sort=created": {"0", "1", "2"}, "/ui/runs?sort=nonsense": {"2", "1", "0"},
	} {
		if got := order(path); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	s.want("/ui/runs?sort=priority&workflow=filler", "Sorted are the 3 runs of this page", `aria-sort="descending"`, `<input type="hidden" name="sort" value="priority">`,
		`<a class="sort" href="/ui/runs?workflow=filler">Priority`)

	p := s.want("/ui/runs", "Priority", "key key-run-1")
	if strings.Contains(p.body, ">Claims<") || strings.Contains(p.body, "Save view") {
		t.Error("a column that nobody asked for is shown, or nothing can be saved as a view")
	}
	p = s.post("/ui/prefs", "columns", "yes", "column", "claims", "column", "why", "back", "/ui/runs")
	if p.at.Path != "/ui/runs" || !strings.Contains(p.body, ">Claims<") || strings.Contains(p.body, ">Priority<") || strings.Contains(p.body, "key key-run-1") {
		t.Errorf("the columns are not those that were chosen: %.3000s", p.body)
	}

	if p = s.post("/ui/prefs", "view", "Mine <b>", "query", "workflow=filler&status=completed&cursor=x", "back", "/ui/runs"); p.status != http.StatusOK {
		t.Fatalf("saved: got %d", p.status)
	}
	s.want("/ui/runs", `<a href="/ui/runs?status=completed&amp;workflow=filler">Mine &lt;b&gt;</a>`, "Not over")
	s.want("/ui/runs?status=completed&workflow=filler", `<span class="chip here">`, "Save view", `aria-label="Remove the view Mine &lt;b&gt;"`)
	for _, bad := range [][2]string{{"", "status=failed"}, {strings.Repeat("x", 41), "status=failed"}, {"x", ""}, {"x", "%zz"}, {"x", "status=" + strings.Repeat("x", 4000)}} {
		if p := s.post("/ui/prefs", "view", bad[0], "query", bad[1]); p.status != http.StatusBadRequest {
			t.Errorf("%.50q: got %d, want 400", bad, p.status)
		}
	}
	for i := range 11 {
		s.post("/ui/prefs", "view", fmt.Sprint(i), "query", "status=failed")
	}
	if p := s.post("/ui/prefs", "view", "one more", "query", "status=failed"); p.status != http.StatusBadRequest {
		t.Errorf("the thirteenth view: got %d, want 400", p.status)
	}
	if p = s.post("/ui/prefs", "drop", "Mine <b>", "back", "/ui/runs"); strings.Contains(p.body, "Mine") {
		t.Error("a view that was removed is there")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Base+"/ui/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"!", "bnVsbA", "W3sibiI6IngiLCJxIjoiJXp6In1d", url.QueryEscape(strings.Repeat("QQ", 3000))} {
		req.Header.Set("Cookie", "stepwell_views="+value+"; stepwell_columns="+value)
		if p := s.do(req); p.status != http.StatusOK {
			t.Errorf("cookie %.40q: got %d", value, p.status)
		}
	}
}
