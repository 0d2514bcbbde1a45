package vet

import (
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/packages"
)

// suiteOf is all rules as one analyzer, so that the data is read once.
var suiteOf = &analysis.Analyzer{
	Name: "suite", Doc: "all rules", Requires: []*analysis.Analyzer{reader},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[reader].(findings)
		for _, r := range rules {
			for _, d := range found[r.name] {
				pass.Report(d)
			}
		}
		return nil, nil
	},
}

// TestRules: each rule finds what is wrong in the data, and nothing that is right or near to wrong; and each has an
// example of all three: wrong and right ones are the page's, what is near to wrong says so in a comment of the
// data.
func TestRules(t *testing.T) {
	dir := data(t)
	dirs := []string{"allowed", "bodies/...", "captured", "changed", "clock", "far/...", "fixes", "globals", "goroutines", "held/...", "order", "through/...", "unfixed/...", "values", "waiting", "wired/..."}
	for i, d := range dirs {
		dirs[i] = "./" + d
	}
	wrong, near := map[string]int{}, map[string]int{}
	for _, r := range analysistest.Run(t, dir, suiteOf, dirs...) {
		for _, d := range r.Diagnostics {
			wrong[d.Category]++
			// The plain repair would do something else, or is no code.
			if len(d.SuggestedFixes) > 0 && r.Pass.Pkg.Name() == "unfixed" {
				t.Errorf("%s is repaired: %s", r.Pass.Fset.Position(d.Pos), d.Message)
			}
		}
		for _, f := range r.Pass.Files {
			for _, g := range f.Comments {
				for _, at := range g.List {
					_, names, _ := strings.Cut(at.Text, "// near: ")
					for name := range strings.FieldsSeq(names) {
						near[name]++
					}
				}
			}
		}
	}
	page, right := map[string]int{}, map[string]int{}
	var last example
	for _, e := range examples(t) {
		if e.wrong {
			last = e
		}
		for _, name := range last.want {
			switch {
			case e.wrong:
				page[name]++
			case e.part == last.part:
				right[name]++
			}
		}
	}
	table := fmt.Sprintf("%-14s %5s %5s %5s %5s\n", "", "page", "right", "wrong", "near")
	for _, r := range rules {
		table += fmt.Sprintf("%-14s %5d %5d %5d %5d\n", r.name, page[r.name], right[r.name], wrong[r.name], near[r.name])
		if page[r.name] == 0 || right[r.name] == 0 || wrong[r.name] == 0 || near[r.name] == 0 {
			t.Errorf("the rule %s has %d wrong and %d right examples on the page, and in the data %d that are wrong and %d that are near: it needs each", r.name, page[r.name], right[r.name], wrong[r.name], near[r.name])
		}
		delete(near, r.name)
	}
	for name := range near {
		t.Errorf("something is near to %q, which is no rule", name)
	}
	t.Logf("examples of each rule\n%s", table)
}

// TestShapesOfOwn: times, and types that say themselves how they are written, have shapes of their own.
func TestShapesOfOwn(t *testing.T) {
	pkg := load(t, data(t), "./changed")[0].Types
	cents := pkg.Scope().Lookup("Cents").Type()
	var moment, raw types.Type
	for _, p := range pkg.Imports() {
		switch p.Path() {
		case "time":
			moment = p.Scope().Lookup("Time").Type()
		case "encoding/json":
			raw = p.Scope().Lookup("RawMessage").Type()
		}
	}
	for _, c := range []struct {
		of   types.Type
		want any
	}{
		{moment, "time"}, {types.NewPointer(moment), "time"}, {cents, "example.com/vet/changed.Cents"}, {types.NewSlice(cents), []any{"example.com/vet/changed.Cents"}}, {raw, "any"},
	} {
		if got := shapeOf(c.of, nil); !reflect.DeepEqual(got, c.want) {
			t.Errorf("the shape of %v is %v, want %v", c.of, got, c.want)
		}
		if what := misfit(shapeOf(c.of, nil), c.of, "", nil); what != "" {
			t.Errorf("%v does not hold itself: %s", c.of, what)
		}
	}
}

// data is a module with the test data, which uses this one.
func data(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			text = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(text, []byte("module example.com/vet\n\nrequire github.com/stepwell/stepwell v0.0.0\n\nreplace github.com/stepwell/stepwell => "+root))
			text = regexp.MustCompile(`(?m)^tool .*$`).ReplaceAll(text, nil)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
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
