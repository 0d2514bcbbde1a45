// Package golangci has the analyzers of workflow code as a module plugin of golangci-lint: see docs/analyzer.md. It is a
// module of its own, so that nobody who uses Stepwell has what it needs.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/stepwell/stepwell/vet"
)

func init() { register.Plugin("stepwell", New) }

// settings are those of .golangci.yml.
type settings struct {
	Pure []string `json:"pure"` // functions and packages that workflow code may call whatever they come to
}

type plugin struct{}

// New makes the plugin, with the settings of a project.
func New(given any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](given)
	if err != nil {
		return nil, err
	}
	vet.Pure(s.Pure...)
	return plugin{}, nil
}

// BuildAnalyzers implements register.LinterPlugin.
func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return vet.Analyzers(), nil }

// GetLoadMode implements register.LinterPlugin.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
