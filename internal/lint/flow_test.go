package lint

// This file holds that code returns where it fails, and that a context in a struct has a reason.

import (
	"fmt"
	"go/ast"
	"go/token"
	"testing"
)

func TestEarlyReturns(t *testing.T) { check(t, chainRule) }

// chainRule finds an if err == nil behind another: what the first does has failed or not, and is followed better by a
// return.
func chainRule(s *source) (faults []string) {
	if s.test {
		return nil
	}
	look := func(list []ast.Stmt) {
		for i := 1; i < len(list); i++ {
			if goesOn(list[i-1]) && goesOn(list[i]) && !s.allowed(list[i].Pos()) {
				faults = append(faults, fmt.Sprintf("%s: if err == nil behind if err == nil: return where it fails", s.at(list[i].Pos())))
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			look(n.List)
		case *ast.CaseClause:
			look(n.Body)
		case *ast.CommClause:
			look(n.Body)
		}
		return true
	})
	return faults
}

// goesOn reports whether a statement does something only where nothing has failed.
func goesOn(s ast.Stmt) bool {
	is, ok := s.(*ast.IfStmt)
	if !ok || is.Init != nil || is.Else != nil {
		return false
	}
	cond := is.Cond
	for {
		both, ok := cond.(*ast.BinaryExpr)
		if !ok || both.Op != token.LAND {
			break
		}
		cond = both.X
	}
	eq, ok := cond.(*ast.BinaryExpr)
	if !ok || eq.Op != token.EQL {
		return false
	}
	x, ok := eq.X.(*ast.Ident)
	y, isNil := eq.Y.(*ast.Ident)
	return ok && isNil && x.Name == "err" && y.Name == "nil"
}

func TestChainRule(t *testing.T) {
	for body, want := range map[string]int{
		"if err == nil { err = f() }; if err == nil { err = g() }":              1,
		"if err == nil { err = f() }; if err == nil && ok { err = g() }":        1,
		"if err == nil { err = f() }; return err":                               0,
		"if err == nil { err = f() }; if err != nil { return err }":             0,
		"if err := f(); err == nil { return nil }; if err == nil { err = g() }": 0,
	} {
		if got := chainRule(mustParse(t, "p/p.go", "package p\nfunc f() error { "+body+"\n}")); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", body, got, want)
		}
	}
}

func TestContextsInStructs(t *testing.T) { check(t, keptContextRule) }

// keptContextRule finds contexts in structs without a comment that says what they bound, or why they are there.
func keptContextRule(s *source) (faults []string) {
	if s.test {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range st.Fields.List {
			sel, ok := f.Type.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Context" || f.Comment != nil || f.Doc != nil || s.allowed(f.Pos()) {
				continue
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" {
				faults = append(faults, fmt.Sprintf("%s: a context in a struct: say in a comment of what it is, or give it to who needs it", s.at(f.Pos())))
			}
		}
		return true
	})
	return faults
}

func TestKeptContextRule(t *testing.T) {
	for field, want := range map[string]int{"ctx context.Context": 1, "context.Context": 1, "ctx context.Context // of the request": 0} {
		if got := keptContextRule(mustParse(t, "p/p.go", "package p\nimport \"context\"\ntype t struct {\n\t"+field+"\n}")); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", field, got, want)
		}
	}
}
