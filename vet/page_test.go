package vet

// The page of rules is test data too: each example that it calls wrong is found as it says, and none that it calls
// right.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// example is a block of code of the page.
type example struct {
	part   string
	shared string // what all code of the page shares
	wrong  bool
	code   string
	want   []string // rules
	log    string   // of a run, that its package has

	file, text string
	found      []finding
}

var (
	fence   = regexp.MustCompile("(?s)```go\n(.*?)```\n(?:\n(Found by [^\n]*|Nothing finds this [^\n]*)(?:\n\n```json\n(.*?)```)?)?")
	inTicks = regexp.MustCompile("`(\\w+)`")
)

// examples reads the page.
func examples(t *testing.T) (all []example) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, shared, _ := strings.Cut(page, "<!--go\n")
	shared, page, _ = strings.Cut(shared, "-->")
	for part := range strings.SplitSeq(strings.ReplaceAll(page, "\n### ", "\n## "), "\n## ") {
		title, part, _ := strings.Cut(part, "\n")
		for _, m := range fence.FindAllStringSubmatchIndex(part, -1) {
			e := example{part: title, shared: shared, code: part[m[2]:m[3]]}
			before := part[:m[0]]
			e.wrong = strings.LastIndex(before, "\nWrong: ") > strings.LastIndex(before, "\nRight")
			if e.wrong && m[4] < 0 {
				t.Errorf("rule %q does not say what finds it", title)
			}
			if e.wrong && m[4] >= 0 && strings.HasPrefix(part[m[4]:m[5]], "Found") {
				head, _, _ := strings.Cut(part[m[4]:m[5]], ":")
				for _, name := range inTicks.FindAllStringSubmatch(head, -1) {
					e.want = append(e.want, name[1])
				}
				if m[6] >= 0 {
					e.log = part[m[6]:m[7]]
				}
			}
			all = append(all, e)
		}
	}
	return all
}

// known packages that the page uses without importing them.
var onPage = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "json": "encoding/json", "maps": "maps", "os": "os", "rand": "math/rand/v2",
	"slices": "slices", "slog": "log/slog", "sql": "database/sql", "strings": "strings", "sync": "sync", "time": "time", "stepwell": module,
}

// asFile is a block as a file of a package, with what the page shares.
func asFile(t *testing.T, shared, code string) string {
	t.Helper()
	body := shared + "\n" + code
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	paths := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && onPage[x.Name] != "" {
				paths[onPage[x.Name]] = true
			}
		}
		return true
	})
	head := "package p\n"
	for p := range paths {
		head += fmt.Sprintf("import %q\n", p)
	}
	return head + body
}

// TestThePageOfRules: what the page calls wrong is found as it says, and what it calls right is not.
func TestThePageOfRules(t *testing.T) {
	wrong := 0
	for _, e := range pageOf(t) {
		if e.wrong {
			wrong++
		}
		var got []string
		text := ""
		for _, d := range e.found {
			got = append(got, d.Category)
			text += d.Message + "\n"
		}
		slices.Sort(got)
		got = slices.Compact(got)
		want := slices.Clone(e.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("rule %q: found %q, and the page says %q\n%s\n%s", e.part, got, want, text, e.code)
		}
	}
	if wrong < 25 {
		t.Errorf("got %d wrong examples, want the page's", wrong)
	}
}

// pageOf are the examples of the page, each a package, with what is found in it.
func pageOf(t *testing.T) []example {
	t.Helper()
	dir := data(t)
	all, texts := pageIn(t, dir), map[string]string{}
	for _, e := range all {
		texts[e.file] = e.text
	}
	found := alone(t, dir, texts)
	for i := range all {
		all[i].found = found[all[i].file]
	}
	return all
}

// pageIn are the examples of the page as packages of a module, with the logs that they have.
func pageIn(t *testing.T, dir string) []example {
	t.Helper()
	all := examples(t)
	for i, e := range all {
		at := filepath.Join(dir, "page", fmt.Sprintf("p%02d", i))
		all[i].file, all[i].text = filepath.Join(at, "p.go"), asFile(t, e.shared, e.code)
		if e.log == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Join(at, histories), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, histories, "order.jsonl"), []byte(e.log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestAnchors: what messages point at is on the page.
func TestAnchors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(line, "#")), ""); ok && strings.HasPrefix(line, "##") {
			anchor := regexp.MustCompile(`[^\w\s-]`).ReplaceAllString(strings.ToLower(title), "")
			anchors[strings.ReplaceAll(anchor, " ", "-")] = true
		}
	}
	for _, r := range rules {
		if !anchors[r.anchor] {
			t.Errorf("the rule %s points at #%s, which the page does not have", r.name, r.anchor)
		}
	}
}
