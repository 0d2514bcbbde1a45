package golangci

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
)

// TestPlugin: golangci-lint finds the plugin by its name, and all analyzers in it; settings that it does not know are refused.
func TestPlugin(t *testing.T) {
	make, err := register.GetPlugin("stepwell")
	if err != nil {
		t.Fatal(err)
	}
	p, err := make(map[string]any{"pure": []string{"example.com/money"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.BuildAnalyzers()
	if err != nil || len(all) < 25 || p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Errorf("got %d analyzers, %v, %s", len(all), err, p.GetLoadMode())
	}
	if _, err := make(map[string]any{"pur": 1}); err == nil {
		t.Error("an unknown setting was not refused")
	}
}
