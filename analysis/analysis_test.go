package analysis

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
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

// TestRules: each rule finds what is wrong in the data, and nothing that is right or near to wrong.
func TestRules(t *testing.T) {
	analysistest.Run(t, data(t), suiteOf, "./clock", "./goroutines", "./order", "./bodies", "./globals", "./waiting", "./values", "./allowed", "./far/...")
}

// TestFixes: what is repaired is formatted, compiles and breaks no rule any more.
func TestFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, data(t), suiteOf, "./fixes")
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
