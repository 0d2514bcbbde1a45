// Package vettool is the program that go vet calls for each package: see cmd/stepwellvet.
package vettool

import (
	"encoding/json"
	"flag"
	"os"
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
	if done := skip(os.Args[len(os.Args)-1]); done {
		return
	}
	unitchecker.Main(analysis.Analyzers()...)
}

// skip leaves out packages of the standard library, of which only facts are asked: their functions are known by name.
func skip(file string) bool {
	if !strings.HasSuffix(file, ".cfg") {
		return false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false // the driver tells
	}
	var unit struct {
		ImportPath, VetxOutput string
		VetxOnly               bool
		Module                 *struct{ Path string }
		ModulePath             string
	}
	if json.Unmarshal(text, &unit) != nil || !unit.VetxOnly || unit.Module != nil || unit.ModulePath != "" {
		return false
	}
	if first, _, _ := strings.Cut(unit.ImportPath, "/"); strings.Contains(first, ".") || first == "command-line-arguments" {
		return false
	}
	return os.WriteFile(unit.VetxOutput, nil, 0o600) == nil
}
