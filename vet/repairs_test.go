package vet

// Repairs of all that is wrong in the data and on the page.

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/ast/astutil"
)

// TestEveryRepair: wherever something is repaired, the code is formatted, compiles and has nothing left to repair, and
// nothing is found in it that was not there before.
func TestEveryRepair(t *testing.T) {
	dir := data(t)
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") {
			var text []byte
			text, err = os.ReadFile(name)
			texts[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range pageIn(t, dir) {
		texts[e.file] = e.text
	}
	before := map[string]map[string]int{} // what has no repair, by files
	repaired := map[string]int{}
	for round := 0; ; round++ {
		found := alone(t, dir, texts)
		again := false
		for name, all := range found {
			left := map[string]int{}
			for _, d := range all {
				if d.edits == nil {
					left[lines.ReplaceAllString(d.Message, "")]++
				} else if round == 0 {
					repaired[d.Category]++
				}
			}
			if round == 0 {
				before[name] = left
			}
			for message, n := range left {
				if n > before[name][message] {
					t.Errorf("%s: found when all was repaired, and not before: %s\n%s", name, message, texts[name])
				}
			}
			if text := repair(t, name, texts[name], all); text != texts[name] {
				texts[name], again = text, true
			}
		}
		if !again {
			break
		}
		if round == 5 {
			t.Fatal("there is always more to repair")
		}
	}
	for _, name := range []string{"time", "random", "logging", "goroutines", "maporder"} {
		if repaired[name] < 3 {
			t.Errorf("got %d repairs of the rule %s, want more", repaired[name], name)
		}
	}
	for _, name := range []string{"fixes.go", "more.go"} {
		name = filepath.Join(dir, "fixes", name)
		want, err := os.ReadFile(name + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		if got := texts[name]; got != string(want) {
			t.Errorf("%s is repaired otherwise:\n%s", name, got)
		}
	}
	t.Logf("repaired, by rules: %v", repaired)
}

// lines are the places in messages.
var lines = regexp.MustCompile(`\(\S+\.go:\d+\)`)

// repair makes the repairs of a file. None may overlap with another, as go vet then makes none at all.
func repair(t *testing.T, name, text string, all []finding) string {
	t.Helper()
	var edits []edit
	for _, d := range all {
		if !slices.ContainsFunc(d.edits, func(e edit) bool {
			return slices.ContainsFunc(edits, func(o edit) bool {
				if e.from < o.to && o.from < e.to {
					t.Errorf("%s: the repair of %q overlaps with another", name, d.Message)
				}
				return e.from == o.from && e.to == o.to // the same import
			})
		}) {
			edits = append(edits, d.edits...)
		}
	}
	if edits == nil {
		return text
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b bytes.Buffer
	last := 0
	for _, e := range edits {
		b.WriteString(text[last:e.from])
		b.Write(e.text)
		last = e.to
	}
	b.WriteString(text[last:])
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, b.Bytes(), parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	dropUnused(fset, f)
	b.Reset()
	if err := format.Node(&b, fset, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dropUnused drops the imports that nothing uses any more, as go vet -fix does.
func dropUnused(fset *token.FileSet, f *ast.File) {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range slices.Clone(f.Imports) {
		of, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(of)
		if regexp.MustCompile(`^v\d+$`).MatchString(name) {
			name = path.Base(path.Dir(of))
		}
		if spec.Name == nil && !used[name] {
			astutil.DeleteImport(fset, f, of)
		} else if spec.Name != nil && !used[spec.Name.Name] && spec.Name.Name != "_" {
			astutil.DeleteNamedImport(fset, f, spec.Name.Name, of)
		}
	}
}
