package lint

// This file holds what needs a comment: files say what they are for, exported names what they are.

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestComments(t *testing.T) { check(t, commentRule) }

func commentRule(s *source) (faults []string) {
	if s.test {
		return nil
	}
	if !opens(s.file) {
		faults = append(faults, s.path+": does not open with what it is for")
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && onExported(d) && !says(d.Doc) && !standard[d.Name.Name] {
				faults = append(faults, fmt.Sprintf("%s: %s has no doc comment", s.at(d.Pos()), d.Name))
			}
		case *ast.GenDecl:
			for _, name := range undocumented(d) {
				faults = append(faults, fmt.Sprintf("%s: %s has no doc comment", s.at(name.Pos()), name))
			}
		}
	}
	return faults
}

// standard are methods whose meaning their interface gives.
var standard = map[string]bool{"Error": true, "String": true, "Unwrap": true, "Is": true, "As": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true, "Format": true, "LogValue": true, "Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true}

// opens reports whether a comment stands before the first type or function, or is its. Imports and bare variables may come first.
func opens(f *ast.File) bool {
	first := f.FileEnd
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.TYPE {
			continue
		}
		first = d.Pos()
		break
	}
	for _, g := range f.Comments {
		if says(g) && g.Pos() < first && !strings.HasPrefix(g.Text(), "Code generated") {
			return true
		}
	}
	return false
}

// says reports whether a comment has words, directives aside.
func says(g *ast.CommentGroup) bool { return g != nil && strings.TrimSpace(g.Text()) != "" }

// onExported reports whether a function is one, or a method of an exported type.
func onExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// undocumented lists the exported names of a declaration that neither they nor their group explain.
func undocumented(d *ast.GenDecl) (names []*ast.Ident) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && !says(spec.Doc) && !(says(d.Doc) && len(d.Specs) == 1) && !says(spec.Comment) {
				names = append(names, spec.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && !says(spec.Doc) && !says(d.Doc) && !says(spec.Comment) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func TestCommentRule(t *testing.T) {
	for src, want := range map[string]int{
		"package p\nfunc f() {}":                                                  1,
		"// Package p is for a test.\npackage p\nfunc f() {}":                     0,
		"package p\n// f is for a test.\nfunc f() {}":                             0,
		"package p\n\n// What it is for.\n\nimport \"fmt\"\nvar x = fmt.Sprint()": 0,
		"package p\nvar x = 1\n// f is for a test.\nfunc f() {}":                  0,
		"package p\nvar x = 1\nfunc f() {}":                                       1,
		"//go:build linux\n\npackage p\nfunc f() {}":                              1,
		"// P.\npackage p\nfunc F() {}":                                           1,
		"// P.\npackage p\ntype T int\nfunc (T) F() {}":                           2,
		"// P.\npackage p\ntype t int\nfunc (*t) F() {}":                          0,
		"// P.\npackage p\n// T is it.\ntype T[K any] int\nfunc (*T[K]) F() {}\nfunc (*T[K]) String() string { return \"\" }": 1,
		"// P.\npackage p\n// All of them.\nconst (\nA = 1\nB = 2\n)":                                                         0,
		"// P.\npackage p\nconst (\nA = 1 // one\nB = 2\n)":                                                                   1,
	} {
		if got := commentRule(mustParse(t, "world/x.go", src)); len(got) != want {
			t.Errorf("%q: got %q, want %d faults", src, got, want)
		}
	}
}
