package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// TestProblemsPage: docs/server.md has each code that a request may be refused with, with its status, and
// docs/protocol.md each that a worker is told.
func TestProblemsPage(t *testing.T) {
	t.Parallel()
	told := slices.DeleteFunc(world.Codes(), func(c world.Coded) bool { return wire.Sentinel(c.Code) == nil })
	for page, codes := range map[string][]world.Coded{"server.md": problems, "protocol.md": told} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, p := range codes {
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.Contains(line, "`"+p.Code+"`") && strings.Contains(line, fmt.Sprint(p.Status))
			}) {
				t.Errorf("docs/%s has no line with %s and %d", page, p.Code, p.Status)
			}
		}
	}
}
