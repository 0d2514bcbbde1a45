// Package docs_test holds the Go and SQL code in the documentation to the code of today: what no longer compiles or runs fails here.
package docs_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// block is a fenced code block of a page, or the declarations that its fragments share: a comment that begins with "<!--go".
type block struct {
	page string
	line int // of its first line of code
	lang string
	code string
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

const shared = "shared"

// blocks returns all code blocks of all pages.
func blocks(t *testing.T) []block {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	var all []block
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blocksOf(page, string(text))...)
	}
	return all
}

func blocksOf(page, text string) (all []block) {
	end := ""
	for i, line := range strings.Split(text, "\n") {
		switch last := len(all) - 1; {
		case end != "" && line == end:
			end = ""
		case end != "":
			all[last].code += line + "\n"
		case line == "<!--go":
			all, end = append(all, block{page: page, line: i + 2, lang: shared}), "-->"
		case strings.HasPrefix(line, "```"):
			all, end = append(all, block{page: page, line: i + 2, lang: strings.TrimPrefix(line, "```")}), "```"
		}
	}
	return all
}

// TestGo vets every Go block that is a file or a list of declarations, against the module as it is, and holds all of them to gofmt.
func TestGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	module(t, dir)
	common := map[string]string{}
	names := map[string]string{}
	for i, b := range blocks(t) {
		switch b.lang {
		case shared:
			common[b.page] += b.code
			continue
		case "go":
		default:
			continue
		}
		if got, err := format.Source([]byte(b.code)); err != nil {
			t.Errorf("%s: %v", b.at(), err)
			continue
		} else if string(got) != b.code {
			t.Errorf("%s: not as gofmt writes it; want\n%s", b.at(), got)
		}
		pkg := fmt.Sprintf("block%d", i)
		if write(t, filepath.Join(dir, pkg), b.code, common[b.page]) {
			names[pkg] = b.at()
		}
	}
	if len(names) < 10 {
		t.Fatalf("got %d Go blocks that can be compiled, want the documentation's", len(names))
	}
	vet(t, dir, names)
}

// module makes a module in dir that depends on this one.
func module(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n")
	rest, _, _ = strings.Cut(rest, "\ntool ")
	put(t, filepath.Join(dir, "go.mod"), "module example.com/docs\n"+rest+
		"\nrequire github.com/stepwell/stepwell v0.0.0\n\nreplace github.com/stepwell/stepwell => "+root+"\n")
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "go.sum"), string(sum))
}

// write makes a package of a block and reports whether it can be compiled: statements cannot.
func write(t *testing.T, dir, code, common string) bool {
	t.Helper()
	if strings.HasPrefix(code, "package ") {
		put(t, filepath.Join(dir, "code.go"), code)
		return true
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err != nil {
		return false
	}
	put(t, filepath.Join(dir, "code.go"), file(t, code))
	if common != "" {
		put(t, filepath.Join(dir, "common.go"), file(t, common))
	}
	return true
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// packages are those that fragments may use without saying so.
var packages = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "json": "encoding/json", "maps": "maps", "os": "os",
	"rand": "math/rand/v2", "slices": "slices", "slog": "log/slog", "sync": "sync", "time": "time",
	"stepwell": "github.com/stepwell/stepwell", "world": "github.com/stepwell/stepwell/world",
	"memory": "github.com/stepwell/stepwell/world/memory", "sqlite": "github.com/stepwell/stepwell/world/sqlite",
	"postgres": "github.com/stepwell/stepwell/world/postgres",
	"pgx":      "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool",
}

// file makes a file of declarations, with the imports that they use.
func file(t *testing.T, code string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0)
	if err != nil {
		t.Fatalf("%v in\n%s", err, code)
	}
	var imports []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] != "" {
				imports = append(imports, fmt.Sprintf("import %q\n", packages[x.Name]))
			}
		}
		return true
	})
	slices.Sort(imports)
	return "package p\n" + strings.Join(slices.Compact(imports), "") + code
}

// vet type-checks all packages of the module; names says which block each is.
func vet(t *testing.T, dir string, names map[string]string) {
	t.Helper()
	args := []string{"vet"}
	if raced() {
		args = append(args, "-race") // what was compiled for this test is used again
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./...")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	for pkg, at := range names {
		out = []byte(strings.ReplaceAll(string(out), pkg+string(filepath.Separator), at+" "))
	}
	t.Errorf("go vet: %v\n%s", err, out)
}

func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestBlocksOf keeps the reader of pages honest: a block that it overlooked would be held to nothing.
func TestBlocksOf(t *testing.T) {
	t.Parallel()
	got := blocksOf("p.md", "text\n```go\nvar x = 1\n```\n<!--go\ntype T int\n-->\n```sql\nSELECT 1;\n```\n")
	want := []block{{"p.md", 3, "go", "var x = 1\n"}, {"p.md", 6, shared, "type T int\n"}, {"p.md", 9, "sql", "SELECT 1;\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
