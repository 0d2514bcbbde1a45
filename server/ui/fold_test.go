package ui_test

// Timelines of much: a large Map is one row, pages are not of one row, a stretch of time can be looked into, and inputs
// stand beside outputs.

import (
	"context"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

// many maps over n items, of which the sixtieth fails.
var many = stepwell.Define("many", func(ctx stepwell.Context, n int) (int, error) {
	var items []int
	for i := range n {
		items = append(items, i)
	}
	if err := stepwell.Do(ctx, "begin", func(context.Context) error { return nil }); err != nil {
		return 0, err
	}
	_, _ = stepwell.Map(ctx, items, 8, func(ctx stepwell.Context, i int) (string, error) {
		return stepwell.Step(ctx, "size", func(context.Context) (string, error) {
			if i == 59 {
				return "", stepwell.Fatal(errors.New("no picture"))
			}
			return fmt.Sprintf("size of %d", i), nil
		})
	})
	_, _, err := uitest.Paid.Wait(ctx)
	return n, err
})

// one has n steps behind each other.
var one = stepwell.Define("one-by-one", func(ctx stepwell.Context, n int) (int, error) {
	for range n {
		if err := stepwell.Do(ctx, "step", func(context.Context) error { return nil }); err != nil {
			return 0, err
		}
	}
	return n, nil
})

var entriesLink = regexp.MustCompile(`href="([^"]+)" aria-label="Entries of map`)

func TestAMapIsOneRow(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, many)
	for id, n := range map[string]int{"few": 3, "sixty": 60} {
		if _, err := many.Start(t.Context(), s.App, n, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyEvent)
	}
	if p := s.want("/ui/runs/few", "size in map[0][2]"); strings.Contains(p.body, "show its") {
		t.Error("three items are folded")
	}
	p := s.want("/ui/runs/sixty", "map[0], 60 items", "failed: size in map[0][59]", `class="bar-good"`, `class="bar-bad"`, ">begin<", ">paid<")
	if n := strings.Count(p.body, `class="entry"`); n != 3 {
		t.Errorf("got %d rows, want the step, the Map and the wait", n)
	}
	to := html.UnescapeString(entriesLink.FindStringSubmatch(p.body)[1])
	p = s.want(to, "size in map[0][12]", "Only what belongs to <strong>map[0]</strong>", "size of 12")
	if strings.Contains(p.body, ">paid<") || strings.Count(p.body, `class="entry"`) < 40 {
		t.Errorf("the Map's own entries: got others, or too few: %d", strings.Count(p.body, `class="entry"`))
	}
	s.want("/ui/runs/sixty?in=nonsense", "Nothing happened here.")
	s.want("/ui/runs/sixty?in=%3A", "Nothing happened here.")
}

func TestTheLastPageIsNotOfOneRow(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, one)
	for n, want := range map[int]string{100: "", 101: "", 124: "", 125: "101 to 125 of 125", 201: "101 to 201 of 201", 230: "201 to 230 of 230"} {
		id := fmt.Sprintf("n-%d", n)
		if _, err := one.Start(t.Context(), s.App, n, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
		p := s.want("/ui/runs/"+id, "one-by-one")
		if got := strings.Contains(p.body, " of "+fmt.Sprint(n)+"</span>"); got != (want != "") || !strings.Contains(p.body, want) {
			t.Errorf("%d steps: want %q: %t", n, want, got)
		}
	}
	s.want("/ui/runs/n-201?page=1", "1 to 100 of 201")
}

func TestZoom(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200, Items: []string{"lamp"}})
	s.Until("o-1", stepwell.WhyEvent)
	p := s.want("/ui/runs/o-1", `rel="nofollow">Zoom in</a>`)
	s.want(html.UnescapeString(strings.ReplaceAll("/ui/runs/o-1?zoom="+between(p.body, "/ui/runs/o-1?zoom=", `"`), "&amp;", "&")), "after it was created", ">all of it</a>")
	s.want("/ui/runs/o-1?zoom=999999999999-1000000000000", "Nothing happened here.")
	for _, bad := range []string{"-", "5-1", "x-y", "-5-1", "1-99999999999999999999"} {
		if p := s.want("/ui/runs/o-1?zoom="+bad, ">charge<"); strings.Contains(p.body, ">all of it</a>") {
			t.Errorf("zoom=%s is taken", bad)
		}
	}
}

func TestInputBesideOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200, Items: []string{"lamp"}})
	s.Until("o-1", stepwell.WhyEvent)
	s.want("/ui/runs/o-1", `<summary><code>&#34;lamp&#34;</code> <span aria-hidden="true">→</span>`, `<h4>Input</h4><pre class="payload" tabindex="0">&#34;lamp&#34;</pre>`,
		`<h4>Output</h4><pre class="payload" tabindex="0">&#34;lamp reserved&#34;</pre>`, `<code>4200</code> <span aria-hidden="true">→</span>`)
}
