package vet

// The cases that docs/analyzer.md compares with what Temporal has for the same.

import (
	"go/ast"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
)

// TestPeers: in each case something is found, and in none of those that are right.
func TestPeers(t *testing.T) {
	graph, err := checker.Analyze([]*analysis.Analyzer{suiteOf}, load(t, data(t), "./peers", "./far/stamp"), nil)
	if err != nil {
		t.Fatal(err)
	}
	n, wrong := 0, 0
	for _, act := range graph.Roots {
		for _, f := range act.Package.Syntax {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || act.Package.Name != "peers" || !fn.Name.IsExported() {
					continue
				}
				found := 0
				for _, d := range act.Diagnostics {
					from := fn.Pos()
					if strings.Contains(d.Message, "Define of hidden") && fn.Name.Name == "Hidden" || from <= d.Pos && d.Pos < fn.End() {
						found++
					}
				}
				n++
				right := strings.HasPrefix(fn.Name.Name, "Right")
				if !right {
					wrong++
				}
				if right == (found > 0) {
					t.Errorf("%s: %d findings", fn.Name.Name, found)
				}
			}
		}
	}
	if wrong != 46 || n != 54 {
		t.Errorf("got %d cases, %d of them wrong, want those of the page: 54 and 46", n, wrong)
	}
}
