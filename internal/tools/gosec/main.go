// Gosec runs the rules of gosec over packages. The program that gosec brings asks language models for repairs, and so takes minutes to build; its rules
// do not. It is a module of its own, so that nobody who uses Stepwell has any of it.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"strings"

	"github.com/securego/gosec/v2"
	"github.com/securego/gosec/v2/analyzers"
	"github.com/securego/gosec/v2/rules"
)

func main() {
	without := flag.String("without", "", "rules to leave out, separated by commas")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: gosec [-without G101,G102] DIRECTORY...")
		os.Exit(2)
	}
	found, err := run(strings.Split(*without, ","), flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "gosec:", err)
		os.Exit(2)
	case found > 0:
		os.Exit(1)
	}
}

// run prints what the rules find in the packages of directories, and counts it.
func run(without, dirs []string) (found int, err error) {
	a := gosec.NewAnalyzer(gosec.NewConfig(), false, true, false, runtime.NumCPU(), log.New(io.Discard, "", 0))
	a.LoadRules(rules.Generate(false, rules.NewRuleFilter(true, without...)).RulesInfo())
	a.LoadAnalyzers(analyzers.Generate(false, analyzers.NewAnalyzerFilter(true, without...)).AnalyzersInfo())
	if err := a.Process(nil, dirs...); err != nil {
		return 0, err
	}
	issues, seen, failed := a.Report()
	for file, errs := range failed {
		for _, e := range errs {
			if !strings.Contains(e.Err, "missing function body") { // it is in assembly
				return 0, fmt.Errorf("%s:%d: %s", file, e.Line, e.Err)
			}
		}
	}
	for _, i := range issues {
		if !i.NoSec {
			found++
			fmt.Printf("%s:%s: %s: %s\n%s\n", i.File, i.Line, i.RuleID, i.What, i.Code)
		}
	}
	if seen.NumFiles == 0 {
		return 0, fmt.Errorf("no files in %v", dirs)
	}
	fmt.Printf("gosec: %d files, %d findings\n", seen.NumFiles, found)
	return found, nil
}
