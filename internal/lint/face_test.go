package lint

// This file keeps the root package small: it is what authors touch. What only servers and some programs need is in rooms beside it.

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The most that the root package has.
const (
	mostTypes = 90
	mostFiles = 90
)

func TestFace(t *testing.T) {
	files, types := 0, []string{}
	for _, s := range sources(t) {
		if s.dir != "" {
			continue
		}
		files++
		if !s.test {
			types = append(types, typesOf(s)...)
		}
	}
	slices.Sort(types)
	if len(types) > mostTypes {
		t.Errorf("the root package has %d exported types, more than %d: %s", len(types), mostTypes, strings.Join(types, ", "))
	}
	if files > mostFiles {
		t.Errorf("the root package has %d Go files, more than %d", files, mostFiles)
	}
	if files < 10 || len(types) < 20 {
		t.Errorf("got %d files and %d types, want the package's", files, len(types))
	}
}

// typesOf are the exported types of a file, aliases too.
func typesOf(s *source) (names []string) {
	for _, d := range s.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				names = append(names, ts.Name.Name)
			}
		}
	}
	return names
}
