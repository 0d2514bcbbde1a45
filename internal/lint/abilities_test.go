package lint

// This file holds that a world's abilities are found by its method, and so through all that is wrapped around it.

import (
	"go/ast"
	"testing"
)

// abilitiesFile has the struct that names all abilities.
const abilitiesFile = "world/abilities.go"

func TestAbilities(t *testing.T) { check(t, abilityRule(sources(t))) }

// abilityRule finds type assertions and cases of type switches that ask for an ability of a world: for its interface, or
// for one with a method of such.
func abilityRule(all []*source) func(s *source) []string {
	names, methods := map[string]bool{}, map[string]bool{"Abilities": true}
	interfaces := map[[2]string]*ast.InterfaceType{} // by directory and name
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			switch typ := spec.Type.(type) {
			case *ast.InterfaceType:
				interfaces[[2]string{s.dir, spec.Name.Name}] = typ
			case *ast.StructType:
				for _, f := range typ.Fields.List {
					if s.path == abilitiesFile && spec.Name.Name == "Abilities" {
						names[f.Names[0].Name] = true
					}
				}
			}
			return true
		})
	}
	for name := range names {
		if i := interfaces[[2]string{"world", name}]; i != nil {
			for _, m := range i.Methods.List {
				for _, n := range m.Names {
					methods[n.Name] = true
				}
			}
		}
	}
	var able func(dir string, typ ast.Expr) bool
	able = func(dir string, typ ast.Expr) bool {
		switch typ := typ.(type) {
		case *ast.SelectorExpr:
			x, ok := typ.X.(*ast.Ident)
			return ok && x.Name == "world" && names[typ.Sel.Name]
		case *ast.Ident:
			i := interfaces[[2]string{dir, typ.Name}]
			return i != nil && (dir == "world" && names[typ.Name] || able(dir, i))
		case *ast.InterfaceType:
			for _, m := range typ.Methods.List {
				if len(m.Names) == 0 && able(dir, m.Type) || len(m.Names) > 0 && methods[m.Names[0].Name] {
					return true
				}
			}
		}
		return false
	}
	return func(s *source) (faults []string) {
		look := func(typ ast.Expr) {
			if typ != nil && able(s.dir, typ) && !s.allowed(typ.Pos()) {
				faults = append(faults, s.at(typ.Pos())+": asks a world for an ability: its method Abilities returns it, through wrappers")
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				look(n.Type)
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, typ := range c.(*ast.CaseClause).List {
						look(typ)
					}
				}
			}
			return true
		})
		return faults
	}
}

func TestAbilityRule(t *testing.T) {
	all := []*source{
		mustParse(t, abilitiesFile, "package world\ntype Abilities struct { Poller Poller; Teller Teller }"),
		mustParse(t, "world/world.go", "package world\ntype Poller interface { Poll() }\ntype Teller interface { Tell(string) }\ntype World interface { Log() }"),
	}
	for src, want := range map[string]int{
		"var _, ok = w.(world.Poller)":                                                                 1,
		"var _, ok = w.(world.World)":                                                                  0,
		"var _, ok = w.(other.Poller)":                                                                 0,
		"var _ world.Poller = mine{}":                                                                  0,
		"func f() { switch w.(type) { case int, world.Teller: } }":                                     1,
		"var _, ok = w.(interface { Tell(string) })":                                                   1,
		"var _, ok = w.(interface { world.World; world.Teller })":                                      1,
		"type teller interface { Tell(string) }\nvar _, ok = w.(teller)":                               1,
		"type both interface { teller }\ntype teller interface { Tell(string) }\nvar _, ok = w.(both)": 1,
		"type other interface { Sing() }\nvar _, ok = w.(other)":                                       0,
		"var _, ok = w.(interface { Abilities() world.Abilities })":                                    1,
		"var _, ok = w.(world.Teller) //lint:allow it is a test":                                       0,
		"var x = w.(*Teller)":                                                                          0,
	} {
		s := mustParse(t, "server/x.go", "package server\n"+src)
		if got := abilityRule(append(all, s))(s); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", src, got, want)
		}
	}
	for _, s := range append(all, mustParse(t, "world/x.go", "package world\nvar _, ok = w.(Poller)")) {
		if got, want := len(abilityRule(all)(s)), map[string]int{"world/x.go": 1}[s.path]; got != want {
			t.Errorf("%s: %d faults, want %d", s.path, got, want)
		}
	}
}
