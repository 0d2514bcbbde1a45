package vet

// The count of false alarms in workflows that other people wrote for other engines. A small table says which of their
// types is the Context, and which of their calls is which of Stepwell's; the rest of the analyzer reads them as they
// are:
//
//	go -C vet test . -run TestSamples -v -samples.of=temporal -samples.in=/path/to/samples-go
//
// docs/analyzer.md has what it came to. Without a folder it has nothing to read: no sample is kept here.

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

var (
	samplesIn = flag.String("samples.in", "", "a `folder` with samples of another engine, a module of their own")
	samplesOf = flag.String("samples.of", "temporal", "the `engine` that they are written for")
	samplesAt = flag.String("samples.at", "./...", "the packages of the samples that are read, with commas between")
)

// flows are the names that Temporal and Cadence have for what Stepwell does.
var flows = map[string]string{
	"ExecuteActivity": "Step", "ExecuteLocalActivity": "Step", "ExecuteChildWorkflow": "Run", "Go": "Go", "GoNamed": "Go", "Sleep": "Sleep", "NewTimer": "Timer",
	"Await": "Await", "AwaitWithTimeout": "Await", "Receive": "Wait", "Select": "Wait", "NewContinueAsNewError": "ContinueAsNew", "WithCancel": "WithCancel",
	"Send": "Tell", "SetQueryHandler": "Of",
}

// loggers are what workflow.GetLogger returns: the run's.
var loggers = []string{"go.uber.org/zap"}

// dialects are the tables.
var dialects = map[string]dialect{
	"temporal": {
		library: under("go.temporal.io/sdk"),
		context: contextOf("go.temporal.io/sdk", "Context"),
		names:   flows,
		memory:  map[string]bool{"StartActivity": true, "StartWorkflow": true, "NewSyncOperation": true},
		bodies:  map[string]bool{"ExecuteActivity": true, "ExecuteLocalActivity": true, "SideEffect": true, "MutableSideEffect": true},
	},
	"cadence": {
		library: under("go.uber.org/cadence"),
		context: contextOf("go.uber.org/cadence", "Context"),
		names:   flows,
		memory:  map[string]bool{"StartActivity": true, "StartWorkflow": true, "NewSyncOperation": true},
		bodies:  map[string]bool{"ExecuteActivity": true, "ExecuteLocalActivity": true, "SideEffect": true, "MutableSideEffect": true},
	},
	"dbos": {
		library: under("github.com/dbos-inc/dbos-transact-golang"),
		context: contextOf("github.com/dbos-inc/dbos-transact-golang/dbos", "Context"),
		names:   map[string]string{"RunAsStep": "Step", "Sleep": "Sleep", "Recv": "Wait", "RunWorkflow": "Run", "GetEvent": "Wait"},
		bodies:  map[string]bool{"RunAsStep": true, "RunAsTransaction": true},
	},
}

func under(module string) func(string) bool {
	return func(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }
}

// contextOf is about a type of a name in a module, whichever of its packages has it.
func contextOf(module, name string) func(types.Type) bool {
	return func(t types.Type) bool {
		n, ok := types.Unalias(t).(*types.Named)
		return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && under(module)(n.Obj().Pkg().Path())
	}
}

// TestSamples prints what is found in the samples, and of how many lines.
func TestSamples(t *testing.T) {
	for name, d := range dialects {
		if d.library == nil || d.context == nil || len(d.names) == 0 {
			t.Errorf("the table of %s is not whole", name)
		}
	}
	if *samplesIn == "" {
		return
	}
	defer func(d dialect) { speaks = d }(speaks)
	speaks = dialects[*samplesOf]
	Pure(loggers...)
	pkgs, err := packages.Load(&packages.Config{Dir: *samplesIn, Mode: packages.LoadAllSyntax | packages.NeedModule}, strings.Split(*samplesAt, ",")...)
	if err != nil {
		t.Fatal(err)
	}
	lines, read := 0, 0
	var whole []*packages.Package
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			t.Logf("not read: %v", p.Errors[0])
			continue
		}
		whole = append(whole, p)
		read++
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{suiteOf}, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	n := 0
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Logf("%s: %v", act.Package.PkgPath, act.Err)
		}
		for _, d := range act.Diagnostics {
			n++
			found += fmt.Sprintf("%s: %s\n", act.Package.Fset.Position(d.Pos), d.Message)
		}
	}
	t.Logf("%d findings in %d lines of %d packages\n%s", n, lines, read, found)
}
