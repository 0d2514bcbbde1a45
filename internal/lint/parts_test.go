package lint

// This file keeps the parts of large objects apart: what a part owns only its own file touches, so that its
// invariant, which stands there, can be read off one file.

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// wholes are the objects that are made of parts: package and type. A part is a struct of the same package that they
// hold by value.
var wholes = map[string][]string{
	"internal/engine": {"session", "turn", "Engine"},
	"server":          {"Server"},
	"world/postgres":  {"World", "database"},
	"world/sqlite":    {"World", "writer", "group", "run"},
}

// notYet are fields that hold what is no part yet, and why.
var notYet = map[string]string{
	"cfg":      "what the worker is told: everybody reads it, nobody writes it",
	"able":     "the same",
	"own":      "what a session is told when it begins: everybody reads it, nobody writes it",
	"opt":      "what who opens a world says: everybody reads it, nobody writes it afterwards",
	"opts":     "the same, of who makes a server",
	"counters": "everybody adds to them, one for all",
	"sh":       "where a command runs: everybody reads it, nobody writes it",
	"queue":    "parts of its own are to be named by World",
	"writing":  "the same",
	"group":    "the writer begins and ends its transactions, and is the only one that holds it",
}

// embedded are parts that their whole embeds, so that what they do can be asked of it. No other struct of their package
// has a field with the name of one of theirs.
var embedded = map[string][]string{
	"cmd/stepwell": {"target"},
}

func TestParts(t *testing.T) {
	for dir, names := range wholes {
		for _, fault := range partRule(inDir(sources(t), dir), names) {
			t.Error(fault)
		}
	}
	for dir, names := range embedded {
		for _, fault := range embeddedRule(inDir(sources(t), dir), names) {
			t.Error(fault)
		}
	}
}

// embeddedRule finds selections of what an embedded part owns outside of the file that declares the part.
func embeddedRule(files []*source, parts []string) (faults []string) {
	home := map[string]*source{} // by field
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !slices.Contains(parts, spec.Name.Name) {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					if notYet[name.Name] == "" {
						home[name.Name] = s
					}
				}
			}
			return false
		})
	}
	if len(home) == 0 {
		return []string{fmt.Sprintf("%q: no such structs, or they own nothing", parts)}
	}
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && home[sel.Sel.Name] != nil && home[sel.Sel.Name] != s && !s.allowed(n.Pos()) {
				faults = append(faults, fmt.Sprintf("%s: %s is touched outside of %s: give its part a method", s.at(n.Pos()), sel.Sel.Name, home[sel.Sel.Name].path))
			}
			return true
		})
	}
	return faults
}

func TestEmbeddedRule(t *testing.T) {
	whole := mustParse(t, "p/whole.go", "package p; type whole struct { *box }; func (w *whole) f() { w.put() }")
	part := mustParse(t, "p/box.go", "package p; type box struct { list []int }; func (b *box) put() { b.list = nil }")
	reaches := mustParse(t, "p/reaches.go", "package p; func (w *whole) g() { w.list = nil }")
	if got := embeddedRule([]*source{whole, part}, []string{"box"}); len(got) != 0 {
		t.Errorf("methods only: %q, want no fault", got)
	}
	if got := embeddedRule([]*source{whole, part, reaches}, []string{"box"}); len(got) != 1 {
		t.Errorf("a field of a part in another file: %q, want one fault", got)
	}
	if got := embeddedRule([]*source{whole}, []string{"box"}); len(got) != 1 {
		t.Errorf("no such part: %q, want one fault", got)
	}
}

func inDir(all []*source, dir string) (list []*source) {
	for _, s := range all {
		if s.dir == dir && !s.test {
			list = append(list, s)
		}
	}
	return list
}

// partRule finds selections of what a part owns, as x.part.field, outside of the file that declares the part, and parts
// that have the whole which they are of, by which they would reach each other.
func partRule(files []*source, wholes []string) (faults []string) {
	structs := map[string]*ast.StructType{}
	home := map[string]*source{}
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if st, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name], home[spec.Name.Name] = st, s
				}
			}
			return true
		})
	}
	parts := map[string]string{} // type by field
	held := map[string]bool{}    // what a whole holds by value: it may be a whole itself
	for _, whole := range wholes {
		if structs[whole] == nil {
			return []string{whole + ": no such struct"}
		}
		for _, f := range structs[whole].Fields.List {
			typ := f.Type
			if of, ok := typ.(*ast.IndexExpr); ok { // a generic part
				typ = of.X
			}
			id, ok := typ.(*ast.Ident)
			if ok {
				held[id.Name] = true
			}
			for _, name := range f.Names {
				if ok && structs[id.Name] != nil && notYet[name.Name] == "" {
					parts[name.Name] = id.Name
				}
			}
		}
	}
	owns := func(part, field string) bool {
		for _, f := range structs[part].Fields.List {
			for _, name := range f.Names {
				if name.Name == field {
					return true
				}
			}
		}
		return false
	}
	var isOf func(part, whole string) bool // it is made of it, or of parts that are
	isOf = func(part, whole string) bool {
		return slices.ContainsFunc(structs[whole].Fields.List, func(f *ast.Field) bool {
			id, ok := f.Type.(*ast.Ident)
			return ok && structs[id.Name] != nil && (id.Name == part || isOf(part, id.Name))
		})
	}
	for _, part := range parts {
		for _, f := range structs[part].Fields.List {
			if name := nameOf(f.Type); slices.Contains(wholes, name) && !held[name] && isOf(part, name) {
				faults = append(faults, fmt.Sprintf("%s: a %s has a %s, which is made of it and of others: give it what it needs", home[part].at(f.Pos()), part, name))
			}
		}
	}
	for _, s := range files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			field, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := field.X.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if part := parts[of.Sel.Name]; part != "" && home[part] != s && owns(part, field.Sel.Name) && !s.allowed(n.Pos()) {
				faults = append(faults, fmt.Sprintf("%s: %s of a %s is touched outside of %s: give it a method", s.at(n.Pos()), field.Sel.Name, part, home[part].path))
			}
			return true
		})
	}
	return faults
}

func TestPartRule(t *testing.T) {
	whole := mustParse(t, "p/whole.go", "package p; type whole struct { box box; n int; other *other }; type other struct { x int }; func (w *whole) f() { w.box.put(); w.n++; w.other.x++ }")
	part := mustParse(t, "p/box.go", "package p; type box struct { list []int }; func (b *box) put() { b.list = nil }")
	reaches := mustParse(t, "p/reaches.go", "package p; func (w *whole) g() { w.box.list = nil }")
	if got := partRule([]*source{whole, part}, []string{"whole"}); len(got) != 0 {
		t.Errorf("methods only: %q, want no fault", got)
	}
	if got := partRule([]*source{whole, part, reaches}, []string{"whole"}); len(got) != 1 {
		t.Errorf("a field of a part in another file: %q, want one fault", got)
	}
	back := mustParse(t, "p/box.go", "package p; type box struct { list []int; w *whole }; func (b *box) put() { b.list = nil }")
	if got := partRule([]*source{whole, back}, []string{"whole"}); len(got) != 1 {
		t.Errorf("a part that has the whole: %q, want one fault", got)
	}
	above := mustParse(t, "p/above.go", "package p; type above struct { list []*whole; big big }; type big struct { whole *whole }")
	below := mustParse(t, "p/box.go", "package p; type box struct { list []int; a *above }; func (b *box) put() { b.list = nil }")
	if got := partRule([]*source{whole, below, above}, []string{"whole", "above"}); len(got) != 0 {
		t.Errorf("a part that has what its whole stands on: %q, want no fault", got)
	}
}
