package ui_test

// Lists that look at more than they show.

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

var filler = stepwell.Define("filler", func(stepwell.Context, int) (int, error) { return 0, nil })

// TestAFilterSaysHowFarItLooked: a page of a filter that few fit looks at so many runs, says back to when, and has a way on.
func TestAFilterSaysHowFarItLooked(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.manyRuns()
	p := s.want("/ui/runs?input.n=none", "Looked at runs back to <time", ">Go on</a>", "among those that were looked at")
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

// manyRuns are more than a page looks at. Nobody works on them.
func (s *site) manyRuns() {
	s.Helper()
	for i := range 1200 {
		if _, err := filler.Start(s.Context(), s.app, i, stepwell.RunID(fmt.Sprint("filler-", i))); err != nil {
			s.Fatal(err)
		}
	}
}

// looksOn follows the way on of a filter that nothing fits.
func looksOn(t *testing.T, s *site, b *tab) {
	t.Helper()
	s.manyRuns()
	b.open("/ui/runs?" + url.Values{"input.n": {"none"}}.Encode())
	b.untilText("Looked at runs back to")
	b.keep("runs-looked")
	b.press(".looked a")
	b.untilText("No run fits.")
	if is[bool](b, `document.querySelector(".looked") !== null`) {
		t.Error("the last page says that there is more")
	}
}
