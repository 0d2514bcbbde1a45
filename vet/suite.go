package vet

// The analyzers, as drivers want them: go vet, gopls, golangci-lint.

import (
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// Analyzers returns all analyzers: one for each rule, in the order of docs/rules.md. Each can run
// alone; they share one reading of the code.
func Analyzers() []*analysis.Analyzer { return slices.Clone(suite) }

var suite = func() (all []*analysis.Analyzer) {
	for _, r := range rules {
		all = append(all, &analysis.Analyzer{
			Name:     r.name,
			Doc:      "report " + r.about + " in Stepwell's workflow code\n\n" + doc(r),
			URL:      page + "#" + r.anchor,
			Requires: []*analysis.Analyzer{reader},
			Run: func(pass *analysis.Pass) (any, error) {
				for _, d := range pass.ResultOf[reader].(findings)[r.name] {
					pass.Report(d)
				}
				return nil, nil
			},
		})
	}
	return all
}()

func doc(r *rule) string {
	if r.why == "" {
		return "See docs/rules.md#" + r.anchor
	}
	return "In workflow code " + r.why + ". See docs/rules.md#" + r.anchor
}

// findings are what was found, by the names of rules.
type findings map[string][]analysis.Diagnostic

// reader reads the code of a package once, for all rules, and leaves facts for those that import it.
var reader = &analysis.Analyzer{
	Name:       "stepwellcode",
	Doc:        "find Stepwell's workflow code, and summarize it",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	FactTypes:  []analysis.Fact{new(comesTo), new(changes), new(alters), new(asks), new(does), new(wired)},
	ResultType: reflect.TypeFor[findings](),
	Run:        read,
}
