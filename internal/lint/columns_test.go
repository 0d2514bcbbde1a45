package lint

// This file holds comments to 120 columns. Older ones are wider: how many of their lines a package has is a golden file,
// whose numbers only get smaller.

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const mostColumns = 120

// TestColumns: a package has no more wide comments than it had. With -update (make golden) the file says what there are
// now: whoever narrows some writes it, and nobody else does.
func TestColumns(t *testing.T) {
	wide, lines := map[string]int{}, map[string][]string{}
	for _, s := range sources(t) {
		at := wideComments(s)
		wide[s.dir] += len(at)
		lines[s.dir] = append(lines[s.dir], at...)
	}
	golden := filepath.Join("testdata", "columns.golden")
	if *update {
		var text strings.Builder
		for _, dir := range slices.Sorted(maps.Keys(wide)) {
			if n := wide[dir]; n > 0 {
				fmt.Fprintf(&text, "%d %s\n", n, dirName(dir))
			}
		}
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	may := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var n int
		var dir string
		if _, err := fmt.Sscanf(line, "%d %s", &n, &dir); err != nil {
			t.Fatalf("%s: %q: %v", golden, line, err)
		}
		may[dir] = n
	}
	for dir, n := range wide {
		if most := may[dirName(dir)]; n > most {
			t.Errorf("%s has %d comments of more than %d columns, and may have %d: break the new ones:\n%s",
				dirName(dir), n, mostColumns, most, strings.Join(lines[dir], "\n"))
		}
	}
}

func dirName(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// wideComments says where a file has comments that are too wide. A directive cannot be broken.
func wideComments(s *source) (at []string) {
	if ast.IsGenerated(s.file) {
		return nil
	}
	for _, g := range s.file.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//lint:") {
				continue
			}
			pos := s.fset.Position(c.Pos())
			for i, line := range strings.Split(c.Text, "\n") {
				columns := utf8.RuneCountInString(line)
				if i == 0 {
					columns += pos.Column - 1 // a tab is one
				}
				if columns > mostColumns {
					at = append(at, fmt.Sprintf("\t%s:%d", s.path, pos.Line+i))
				}
			}
		}
	}
	return at
}

func TestWideComments(t *testing.T) {
	long := strings.Repeat("x", mostColumns-len("// "))
	for src, want := range map[string]int{
		"// " + long + "\npackage p":                       0,
		"// " + long + "x\npackage p":                      1,
		"// " + long[:len(long)-1] + "é\npackage p":        0,
		"package p\n\nvar x = 1 // " + long:                1,
		"package p\n\n/*\n" + long + "xxxx\n*/\nvar x = 1": 1,
		"//go:generate " + long + "\npackage p":            0,
		"package p\n\nvar x = `" + long + "xxxxxxx`":       0,
	} {
		if got := wideComments(mustParse(t, "world/x.go", src)); len(got) != want {
			t.Errorf("%q: got %q, want %d", src, got, want)
		}
	}
}
