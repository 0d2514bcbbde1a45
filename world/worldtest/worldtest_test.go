package worldtest

import (
	"slices"
	"testing"
)

// A check that is renamed would be run again where it costs minutes.
func TestBulkyChecksAreThere(t *testing.T) {
	var names []string
	for _, topic := range topics {
		for _, c := range topic.checks {
			names = append(names, c.name)
		}
	}
	for _, name := range bulky {
		if !slices.Contains(names, name) {
			t.Errorf("there is no check %q", name)
		}
	}
}
