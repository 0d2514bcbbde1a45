package lint

// This file holds which types of package world, and of world/journal, the root's API shows: those that the documentation
// of world says are for programs.

import (
	"cmp"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTypesOfWorldInTheAPI(t *testing.T) {
	var listed []string
	shown := map[string]string{} // and where
	for _, s := range sources(t) {
		switch {
		case s.path == "world/doc.go":
			_, list, _ := strings.Cut(s.file.Doc.Text(), "# What programs meet of it")
			list, _, _ = strings.Cut(list, "\n#")
			for _, m := range regexp.MustCompile(`\[(\w+)\]|\b(journal\.\w+)`).FindAllStringSubmatch(list, -1) {
				listed = append(listed, cmp.Or(m[2], "world."+m[1]))
			}
		case s.dir == "" && !s.test:
			for _, d := range s.file.Decls {
				for _, typ := range shownBy(d) {
					shown[typ.X.(*ast.Ident).Name+"."+typ.Sel.Name] = s.at(typ.Pos())
				}
			}
		}
	}
	for name, at := range shown {
		if !slices.Contains(listed, name) {
			t.Errorf("%s: the API shows %s: want a type of its own, or a line in world/doc.go that says what it is to programs", at, name)
		}
	}
	for _, name := range listed {
		if shown[name] == "" {
			t.Errorf("world/doc.go lists %s, which the API does not show: %v", name, slices.Sorted(maps.Keys(shown)))
		}
	}
}

// shownBy are the types of world and journal in what a declaration exports: signatures, exported fields, methods of interfaces, targets of aliases.
func shownBy(d ast.Decl) (list []*ast.SelectorExpr) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "world" || x.Name == "journal") {
					list = append(list, sel)
				}
			}
			return true
		})
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
			for _, fields := range []*ast.FieldList{d.Type.Params, d.Type.Results} {
				if fields != nil {
					for _, f := range fields.List {
						look(f.Type)
					}
				}
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok || !typ.Name.IsExported() {
				continue
			}
			if of, ok := typ.Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
						look(f.Type)
					}
				}
				continue
			}
			look(typ.Type)
		}
	}
	return list
}

// receiver is the name of the type that a method is of.
func receiver(d *ast.FuncDecl) *ast.Ident {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t
		}
	}
}
