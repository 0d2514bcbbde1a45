package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

func typed(t *testing.T, source string) []*types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", "package x\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check(module+"/x", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return []*types.Package{pkg}
}

// TestIncompatible: what breaks a caller is found, and what is only new is not.
func TestIncompatible(t *testing.T) {
	const then = "type T struct{ A int }\ntype I interface{ M() }\nfunc F(n int) {}\n"
	for now, found := range map[string]bool{
		then:                   false,
		then + "func G() {}\n": false,
		"type T struct{ A, B int }\ntype I interface{ M() }\nfunc F(n int) {}\n":        false,
		"type T struct{ A string }\ntype I interface{ M() }\nfunc F(n int) {}\n":        true,
		"type T struct{ A int }\ntype I interface{ M(); N() }\nfunc F(n int) {}\n":      true,
		"type T struct{ A int }\ntype I interface{ M() }\nfunc F(n int, _ ...int) {}\n": true,
		"type T struct{ A int }\ntype I interface{ M() }\n":                             true,
	} {
		if got := incompatible(typed(t, then), typed(t, now)); (got != "") != found {
			t.Errorf("%s: got %q, want found %v", now, got, found)
		}
	}
}
