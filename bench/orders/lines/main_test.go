package main

import (
	"os"
	"strings"
	"testing"
)

// TestTheTableIsTrue: docs/coming-from.md has the figures.
func TestTheTableIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range systems {
		if row, err := s.row("../.."); err != nil || !strings.Contains(string(page), "\n"+row) {
			t.Errorf("got %v, want the row %s in the page", err, row)
		}
	}
}
