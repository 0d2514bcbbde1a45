package lint

// This file holds what code may not do: sleep or skip in tests, start goroutines at init.

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestCalls(t *testing.T) { check(t, callRule) }

// callRule finds time.Sleep (but in a synctest bubble, where it takes no time) and skips in tests, and go statements in init.
func callRule(s *source) (faults []string) {
	add := func(pos token.Pos, what string) {
		if !s.allowed(pos) {
			faults = append(faults, s.at(pos)+": "+what)
		}
	}
	kit := s.test || strings.HasSuffix(s.dir, "test") || strings.Contains(s.dir, "test/")
	var visit func(n ast.Node, bubble, init bool) bool
	walkIn := func(n ast.Node, bubble, init bool) {
		ast.Inspect(n, func(c ast.Node) bool { return c == nil || c == n || visit(c, bubble, init) })
	}
	visit = func(n ast.Node, bubble, init bool) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			walkIn(n, false, n.Recv == nil && n.Name.Name == "init")
			return false
		case *ast.GoStmt:
			if init {
				add(n.Pos(), "a goroutine that starts in init: nobody can wait for it")
			}
		case *ast.CallExpr:
			switch name := callee(n); {
			case strings.HasPrefix(name, "synctest.") && !bubble:
				walkIn(n, true, init)
				return false
			case kit && name == "time.Sleep" && !bubble:
				add(n.Pos(), "time.Sleep in a test: wait for what happens, or use testing/synctest")
			case kit && isSkip(n):
				add(n.Pos(), "a skipped test proves nothing")
			}
		}
		return true
	}
	walkIn(s.file, false, false)
	return faults
}

// callee is a call's function as x.f, or "".
func callee(c *ast.CallExpr) string {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// isSkip reports whether a call is t.Skip, Skipf or SkipNow on a variable with a usual name.
func isSkip(c *ast.CallExpr) bool {
	x, f, _ := strings.Cut(callee(c), ".")
	switch x {
	case "t", "b", "tb", "f":
		return f == "Skip" || f == "Skipf" || f == "SkipNow"
	}
	return false
}

func TestCallRule(t *testing.T) {
	for body, want := range map[string]int{
		"func TestA(t *testing.T) { time.Sleep(1) }":                                                    1,
		"func TestA(t *testing.T) { time.Sleep(1) //lint:allow the kernel has no event for it\n}":       0,
		"func TestA(t *testing.T) { time.Sleep(1) //lint:allow\n}":                                      1,
		"func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }":           0,
		"func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { t.Skip() }); time.Sleep(1) }": 2,
		"func TestA(t *testing.T) { t.Skipf(\"x\") }":                                                   1,
		"func TestA(t *testing.T) { if x { func() { t.SkipNow() }() } }":                                1,
		"func init() { go f() }":                                    1,
		"func init() { func() { go f() }() }":                       1,
		"func start() { go f() }":                                   0,
		"func TestA(t *testing.T) { page.Skip(3); clock.Sleep(1) }": 0,
		"func TestA(t *testing.T) { for range 3 { synctest.Test(t, func(t *testing.T) { go func() { time.Sleep(1) }() }) } }": 0,
	} {
		if got := callRule(mustParse(t, "world/x_test.go", "package world\n"+body)); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", body, got, want)
		}
	}
	if got := callRule(mustParse(t, "world/x.go", "package world\nfunc f() { time.Sleep(1) }")); len(got) != 0 {
		t.Errorf("outside of tests: got %q, want none", got)
	}
}

func TestMarkers(t *testing.T) { check(t, markerRule) }

// markerRule finds comments that put work off: what is to be done is done, or is an issue.
func markerRule(s *source) (faults []string) {
	for _, g := range s.file.Comments {
		for _, c := range g.List {
			for _, word := range strings.FieldsFunc(c.Text, func(r rune) bool { return r < 'A' || r > 'Z' }) {
				switch word {
				case "TO" + "DO", "FIX" + "ME", "XXX", "HACK":
					faults = append(faults, fmt.Sprintf("%s: %s", s.at(c.Pos()), word))
				}
			}
		}
	}
	return faults
}

func TestMarkerRule(t *testing.T) {
	for text, want := range map[string]int{"// TO" + "DO: later": 1, "/* FIX" + "ME(x) */": 1, "// a todo list": 0, "// HACKER": 0} {
		if got := markerRule(mustParse(t, "world/x.go", "package world\n"+text+"\n")); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", text, got, want)
		}
	}
}
