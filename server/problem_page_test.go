package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProblemsPage: docs/server.md has each code that a request may be refused with, with its status.
func TestProblemsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "server.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	for _, p := range problems {
		found := false
		for _, line := range lines {
			found = found || strings.Contains(line, "`"+p.Code+"`") && strings.Contains(line, fmt.Sprint(p.Status))
		}
		if !found {
			t.Errorf("%s has no line with %s and %d", "docs/server.md", p.Code, p.Status)
		}
	}
}
