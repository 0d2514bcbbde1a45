package lint

// This file reads the module's source, once, for all rules.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/stepwell/stepwell"

// root is the module's directory, seen from this package's.
var root = filepath.Join("..", "..")

// source is one Go file.
type source struct {
	path  string // from the module's root, with slashes
	dir   string // "" is the root package's
	test  bool
	fset  *token.FileSet
	file  *ast.File
	allow map[int]bool // lines with //lint:allow and a reason
}

// at names a position for a message.
func (s *source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line)
}

func (s *source) allowed(pos token.Pos) bool { return s.allow[s.fset.Position(pos).Line] }

var readOnce = sync.OnceValues(func() ([]*source, error) {
	var list []*source
	err := walk(".go", func(p string) error {
		s, err := parse(p, nil)
		list = append(list, s)
		return err
	})
	return list, err
})

// sources returns all Go files of the module.
func sources(t *testing.T) []*source {
	t.Helper()
	list, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("got %d Go files, want the module's", len(list))
	}
	return list
}

// walk calls f for each file of this module with a suffix, but for test data and modules of their own; vet is read, as
// users read what it says.
func walk(suffix string, f func(path string) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case rel == ".", rel == "vet":
			case strings.HasPrefix(name, "."), name == "testdata", name == "node_modules", name == "bin":
				return fs.SkipDir
			default:
				if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
					return fs.SkipDir
				}
			}
			return nil
		}
		if strings.HasSuffix(p, suffix) {
			return f(filepath.ToSlash(rel))
		}
		return nil
	})
}

// parse reads one file; src replaces what is on disk.
func parse(p string, src any) (*source, error) {
	s := &source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), fset: token.NewFileSet(), allow: make(map[int]bool)}
	if s.dir == "." {
		s.dir = ""
	}
	var err error
	s.file, err = parser.ParseFile(s.fset, filepath.Join(root, p), src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, g := range s.file.Comments {
		for _, c := range g.List {
			if reason, ok := strings.CutPrefix(c.Text, "//lint:allow "); ok && strings.TrimSpace(reason) != "" {
				s.allow[s.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return s, nil
}

// mustParse is for tests of the rules themselves.
func mustParse(t *testing.T, p, src string) *source {
	t.Helper()
	s, err := parse(p, src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check runs a rule over all files.
func check(t *testing.T, rule func(*source) []string) {
	t.Helper()
	for _, s := range sources(t) {
		for _, fault := range rule(s) {
			t.Error(fault)
		}
	}
}
