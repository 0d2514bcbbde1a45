package vet

// The programs of the test suites that lead to a divergence on purpose: the analyzer finds them, or they are listed as
// those that it cannot. docs/analyzer.md tells of the same. Programs that are allowed are found too, as an allowance
// that allows nothing is reported.

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Ways in which a program diverges that no reading of it can tell.
const (
	releases = "two releases of one workflow, each right by itself: a log of the first tells, and the replay"
	tells    = "no program: it writes or shows what a run was blocked by"
)

// diverging are the functions of tests that speak of a divergence: by which rule their programs are found, and in which
// declaration; or why they are not.
var diverging = map[string][]string{
	"stepwelltest/strict_test.go TestTheKitReportsTheFirstDifferenceOfARunAndItsReplay": {"bodywrites in broken", "globals in TestTheKitReportsTheFirstDifferenceOfARunAndItsReplay"},
	"stepwelltest/strict_test.go TestWhatStrictModeBlocksStaysBlocked":                  {"bodywrites in broken"},
	"stepwelltest/strict_test.go TestWhatChanceDecidedStaysBlocked":                     {"globals in TestWhatChanceDecidedStaysBlocked"},
	"stepwelltest/strict_test.go TestABrokenRuleFailsTheTestThoughTheRunWentOn":         {"goroutines in TestABrokenRuleFailsTheTestThoughTheRunWentOn", "context in TestABrokenRuleFailsTheTestThoughTheRunWentOn"},
	"stepwelltest/failing_test.go TestStateOutsideStepsIsFoundThoughNobodyLooks":        {"globals in forgetful"},
	"stepwelltest/failing_test.go TestABlockedRunCanBeWanted":                           {"globals in forgetful"},

	"internal/behaviour/blocked_test.go TestAForeignGoroutineBlocksTheRun":                  {"goroutines in badDeploys", "context in badDeploys"},
	"internal/behaviour/blocked_test.go TestTheBuildThatWroteTheLogDiverges":                {"globals in TestTheBuildThatWroteTheLogDiverges"},
	"internal/behaviour/context_in_body_test.go TestTheWorkflowsContextInABody":             {"nested in TestTheWorkflowsContextInABody", "goroutines in TestTheWorkflowsContextInABody"},
	"internal/behaviour/context_in_body_test.go TestTheBodyIsNamedWhenItEnds":               {"context in TestTheBodyIsNamedWhenItEnds"},
	"internal/behaviour/hostile_test.go TestPlainGoroutineBlocksItsRun":                     {"goroutines in TestPlainGoroutineBlocksItsRun", "context in TestPlainGoroutineBlocksItsRun"},
	"internal/behaviour/map_order_test.go TestStrictModeAndTheOrderOfAMap":                  {"maporder in TestStrictModeAndTheOrderOfAMap"},
	"internal/behaviour/blocked_test.go badDeploys":                                         {releases},
	"internal/behaviour/child_id_test.go TestAChildWhoseChosenIDChanges":                    {releases},
	"internal/behaviour/continue_test.go TestContinueAsNewDiverges":                         {releases},
	"internal/behaviour/failing_test.go TestADivergenceFailsTheRunWhereItIsToldTo":          {releases},
	"internal/behaviour/inserted_test.go inserted":                                          {releases},
	"internal/behaviour/log_lines_test.go TestADivergedRunIsSaid":                           {releases},
	"internal/behaviour/other_build_test.go TestAnotherBuildTriesAtOnce":                    {releases},
	"internal/behaviour/semantics_values_test.go TestAnswer12StrictModeReportsAnotherInput": {releases},
	"internal/behaviour/years_test.go rollBack":                                             {releases},
	"internal/cli/check_test.go TestCheck":                                                  {releases},
	"internal/behaviour/failing_test.go TestWhoSaysWhetherAPanicBlocks":                     {tells},
	"internal/cli/exit_test.go TestOneTableOfOutcomes":                                      {tells},
	"internal/cli/fixture_runs_test.go blocked":                                             {tells},
	"docs/operating_test.go TestWordsAndCodesAreAllThere":                                   {tells},
	"internal/logs/logs_test.go TestForPeople":                                              {tells},
	"settings_test.go TestEnvironment":                                                      {tells},
	"telemetry/metrics_test.go TestBlockedRunsAreCountedWithinBounds":                       {tells},
	"telemetry/worlds_test.go Runs":                                                         {tells},
	"why_table_test.go TestWhy":                                                             {tells},
}

var speaksOfDivergence = regexp.MustCompile(`CodeDiverged|CodeForeign|DIVERGED|FOREIGN_GOROUTINE|exitDiverged`)

// TestRecall: each program of the test suites that diverges on purpose is found, or known as one that cannot be.
func TestRecall(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	seen, dirs := map[string]bool{}, map[string]bool{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch rel, _ := filepath.Rel(root, name); {
		case d.IsDir() && (strings.HasPrefix(rel, ".") && rel != "." || d.Name() == "testdata" || rel == "bench" || rel == "vet"),
			rel == filepath.Join("internal", "replay"): // programs of the machine itself, which have no Context
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || !speaksOfDivergence.Match(text) {
			return err
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		for _, d := range f.Decls {
			if part := text[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset]; speaksOfDivergence.Match(part) {
				seen[filepath.ToSlash(rel)+" "+declared(d)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "analyzer.md"))
	if err != nil {
		t.Fatal(err)
	}
	for program := range seen {
		how, ok := diverging[program]
		if !ok {
			t.Errorf("%s speaks of a divergence: say what finds its program, or why nothing can", program)
		}
		if file, _, _ := strings.Cut(program, " "); ok && how[0] != tells && !strings.Contains(string(page), "`"+filepath.Base(file)+"`") && !strings.Contains(string(page), "`"+file+"`") {
			t.Errorf("docs/analyzer.md does not tell of %s", file)
		}
	}
	for program, how := range diverging {
		if !seen[program] {
			t.Errorf("%s is listed, and speaks of no divergence", program)
		}
		if file, _, _ := strings.Cut(program, " "); how[0] != releases && how[0] != tells {
			dirs[filepath.Dir(file)] = true
		}
	}
	found := map[string]bool{} // rules in declarations
	for dir := range dirs {
		for name, all := range alone(t, root, testsOf(t, filepath.Join(root, dir))) {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range all {
				for _, decl := range f.Decls {
					if off := d.offset; int(decl.Pos()-f.FileStart) <= off && off < int(decl.End()-f.FileStart) {
						found[dir+": "+d.Category+" in "+declared(decl)] = true
					}
				}
			}
		}
	}
	for program, how := range diverging {
		if file, _, _ := strings.Cut(program, " "); dirs[filepath.Dir(file)] && how[0] != releases && how[0] != tells {
			for _, h := range how {
				if !found[filepath.Dir(file)+": "+h] {
					t.Errorf("%s: %s is not found; got %q", program, h, slices.Sorted(maps.Keys(found)))
				}
			}
		}
	}
}

// declared is the name of a declaration.
func declared(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return ""
}

// testsOf are the test files of a folder, of the package that is apart from it, as they are built here.
func testsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := p.XTestGoFiles
	if len(names) == 0 {
		names = append(p.GoFiles, p.TestGoFiles...)
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Join(dir, name)] = string(text)
	}
	return texts
}
