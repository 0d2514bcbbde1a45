package lint

// This file keeps the root package small: it is what authors touch. What only servers and some programs need is in
// rooms beside it.

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The most that the root package has.
const (
	mostTypes = 60
	mostFiles = 90
)

func TestFace(t *testing.T) {
	files, types := 0, []string{}
	for _, s := range sources(t) {
		if s.dir != "" {
			continue
		}
		files++
		if s.test {
			continue
		}
		types = append(types, typesOf(s)...)
		for _, fault := range carrierRule(s) {
			t.Error(fault)
		}
	}
	slices.Sort(types)
	if len(types) > mostTypes {
		t.Errorf("the root package has %d exported types, more than %d: %s", len(types), mostTypes, strings.Join(types, ", "))
	}
	if files > mostFiles {
		t.Errorf("the root package has %d Go files, more than %d", files, mostFiles)
	}
	if files < 10 || len(types) < 20 {
		t.Errorf("got %d files and %d types, want the package's", files, len(types))
	}
}

// carrierRule finds exported types that only carry an option of a verb. What returns one returns a type that is not
// exported, or the interface that the verb takes.
func carrierRule(s *source) (faults []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		ts, ok := n.(*ast.TypeSpec)
		if !ok || !ts.Name.IsExported() {
			return true
		}
		if _, ok := ts.Type.(*ast.InterfaceType); !ok && strings.HasSuffix(ts.Name.Name, "Option") {
			faults = append(faults, fmt.Sprintf("%s: %s carries an option: do not export it", s.at(ts.Pos()), ts.Name))
		}
		return true
	})
	for _, d := range s.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && onExported(fn) && strings.HasSuffix(fn.Name.Name, "Option") && !fn.Name.IsExported() && !alsoUsed[verb(fn)] {
			faults = append(faults, fmt.Sprintf("%s: %s: what is an option only is not exported", s.at(fn.Pos()), verb(fn)))
		}
	}
	return faults
}

// alsoUsed are exported types that are options, and more: a policy and a pattern that authors write as literals.
var alsoUsed = map[string]bool{"Retry.stepOption": true, "Match.waitOption": true}

func TestCarrierRule(t *testing.T) {
	for name, test := range map[string]struct {
		src  string
		want int
	}{
		"an interface":          {"type StartOption interface{ startOption(*startOptions) }", 0},
		"a carrier":             {"type VersionOption int", 1},
		"options as one":        {"type StartOptions struct{}\nfunc (o StartOptions) startOption(*startOptions) {}", 1},
		"one that is not shown": {"type versionOption int\nfunc (v versionOption) startOption(o *startOptions) {}", 0},
		"a policy":              {"type Retry struct{}\nfunc (r Retry) stepOption(p *engine.Policy) {}", 0},
	} {
		if got := carrierRule(mustParse(t, "x.go", "package stepwell\n"+test.src)); len(got) != test.want {
			t.Errorf("%s: got %q, want %d faults", name, got, test.want)
		}
	}
}

// typesOf are the exported types of a file, aliases too.
func typesOf(s *source) (names []string) {
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				names = append(names, ts.Name.Name)
			}
		}
	}
	return names
}
