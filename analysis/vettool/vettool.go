// Package vettool is the program that go vet calls for each package: see cmd/stepwellvet.
package vettool

import (
	"flag"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/stepwell/stepwell/analysis"
)

// Main answers go vet, and ends the process.
func Main() {
	flag.Func("pure", "functions and packages that workflow code may call whatever they come to, separated by commas", func(names string) error {
		analysis.Pure(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	flag.BoolVar(&analysis.ListAllowed, "allowed", false, "report what //stepwell:allow allows, with the reasons")
	flag.BoolVar(&analysis.ListShapes, "shapes", false, "report the shapes of what is recorded, for "+analysis.ShapesFile)
	flag.String("golden", "", "any text that is another when logs in testdata/histories, or recorded shapes, have changed: go vet keeps findings for as long as its flags are the same")
	unitchecker.Main(analysis.Analyzers()...)
}
