package analysis

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

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// example is a block of code of the page.
type example struct {
	part  string
	wrong bool
	code  string
	want  []string // rules
}

var (
	fence   = regexp.MustCompile("(?s)```go\n(.*?)```\n(?:\n(Found before it runs as [^\n]*|Nothing finds this [^\n]*))?")
	inTicks = regexp.MustCompile("`(\\w+)`")
)

// examples reads the page: what all its code shares, and its examples.
func examples(t *testing.T) (shared string, all []example) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, shared, _ = strings.Cut(page, "<!--go\n")
	shared, page, _ = strings.Cut(shared, "-->")
	for part := range strings.SplitSeq(strings.ReplaceAll(page, "\n### ", "\n## "), "\n## ") {
		title, part, _ := strings.Cut(part, "\n")
		for _, m := range fence.FindAllStringSubmatchIndex(part, -1) {
			e := example{part: title, code: part[m[2]:m[3]]}
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
			}
			all = append(all, e)
		}
	}
	return shared, all
}

// known packages that the page uses without importing them.
var onPage = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "json": "encoding/json", "maps": "maps", "os": "os", "slices": "slices", "strings": "strings",
	"sync": "sync", "time": "time", "stepwell": module,
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

// load reads packages whose dependencies are compiled.
func load(t *testing.T, dir string, patterns ...string) []*packages.Package {
	t.Helper()
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes |
		packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: mode, Env: append(os.Environ(), "GOPROXY=off", "GOWORK=off")}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the data does not compile")
	}
	return pkgs
}

// TestThePageOfRules: what the page calls wrong is found as it says, and what it calls right is not.
func TestThePageOfRules(t *testing.T) {
	dir := data(t)
	shared, all := examples(t)
	for i, e := range all {
		at := filepath.Join(dir, "page", fmt.Sprintf("p%02d", i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "p.go"), []byte(asFile(t, shared, e.code)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pkgs := load(t, dir, "./page/...")
	if len(pkgs) != len(all) {
		t.Fatalf("got %d packages, want %d", len(pkgs), len(all))
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{suiteOf}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		var i int
		if _, err := fmt.Sscanf(filepath.Base(act.Package.PkgPath), "p%d", &i); err != nil {
			t.Fatal(err)
		}
		e := all[i]
		if e.wrong {
			wrong++
		}
		var got []string
		text := ""
		for _, d := range act.Diagnostics {
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
	if wrong < 15 {
		t.Errorf("got %d wrong examples, want the page's", wrong)
	}
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
