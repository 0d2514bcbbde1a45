package docs_test

// Links that stay within the repository must lead somewhere: to a file, and to a heading of it. The index must name every page.

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	hidden  = regexp.MustCompile(`(?s)<!--.*?-->`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	inline  = regexp.MustCompile("`[^`\n]+`")
	link    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

// anchors are the places in a page that a link can name, as GitHub names them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		for n, name := 1, slug; ; n++ {
			if !found[name] {
				found[name] = true
				break
			}
			name = fmt.Sprintf("%s-%d", slug, n)
		}
	}
	return found
}

// links are the targets of a page's links, without those that leave the repository.
func links(text string) (targets []string) {
	text = inline.ReplaceAllString(fence.ReplaceAllString(hidden.ReplaceAllString(text, ""), ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[2], "://") && !strings.HasPrefix(m[2], "mailto:") {
			targets = append(targets, m[2])
		}
	}
	return targets
}

func TestLinks(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{}
	n := 0
	for _, from := range append(pages(t), "CONTRIBUTING.md", "CHANGELOG.md", "deploy/README.md") {
		for _, target := range links(read(t, from)) {
			n++
			file, anchor, named := strings.Cut(target, "#")
			to := path.Join(path.Dir(from), file)
			if file == "" {
				to = from
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s, which is not there", from, target)
				continue
			}
			if !named {
				continue
			}
			if known[to] == nil {
				known[to] = anchors(read(t, to))
			}
			if !known[to][anchor] {
				t.Errorf("%s links to %s: %s has no such heading", from, target, to)
			}
		}
	}
	if n < 50 {
		t.Errorf("got %d links, want the documentation's", n)
	}
}

// TestTheIndexIsComplete: who opens docs/ finds every page.
func TestTheIndexIsComplete(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, target := range links(read(t, "docs/README.md")) {
		listed[path.Join("docs", target)] = true
	}
	for _, page := range pages(t) {
		if !listed[page] && page != "README.md" && page != "docs/README.md" {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}

// TestAnchors keeps the checker honest.
func TestAnchors(t *testing.T) {
	t.Parallel()
	got := anchors("# What happens when…\n## 2. A `step`: [twice](x.md)\n```\n# no heading\n```\n## Same\n## Same\n")
	for _, want := range []string{"what-happens-when", "2-a-step-twice", "same", "same-1"} {
		if !got[want] {
			t.Errorf("got %v, want %s among them", got, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("got %d anchors, want 4: %v", len(got), got)
	}
	if got := links("[a](b.md#c) `[no](link.md)` [d\ne](https://example.com) [f](#g)"); len(got) != 2 || got[0] != "b.md#c" || got[1] != "#g" {
		t.Errorf("got links %q", got)
	}
}
