package lint

// This file holds that the rules between runs are written once, in world/rules: stores read facts and write plans.

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestRules(t *testing.T) { check(t, storeRule) }

// noStores are the packages in world that are none: each other one is held from its first day.
var noStores = []string{"journal", "layout", "remote", "rules", "worldtest"}

func isStore(dir string) bool {
	name, in := strings.CutPrefix(dir, "world/")
	return in && !strings.Contains(name, "/") && !slices.Contains(noStores, name)
}

// decided is what stores do not name, as world/rules decides it; to tell events apart by their type they may name all types.
var decided = map[string]string{
	"HookConflict":  "rules.Settle says what a commit's conditions come to",
	"CodeRunExists": "rules.Settle says what a commit's conditions come to",
	"CodeNotFound":  "rules.Settle says what a commit's conditions come to",
	"Frees":         "rules.Settle says what a commit's conditions come to",
	"OutcomeWoken":  "rules.Act says what an act comes to",
	"Wakes":         "rules.Act says what an act comes to",
}

// storeRule finds what stores decide that world/rules decides, and what ends a pause, which is said by Event.Pauses.
func storeRule(s *source) (faults []string) {
	if s.test || !isStore(s.dir) {
		return nil
	}
	add := func(pos token.Pos, what string) {
		if !s.allowed(pos) {
			faults = append(faults, s.at(pos)+": "+what)
		}
	}
	cases := make(map[ast.Node]bool)
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, e := range n.List {
				cases[e] = true
			}
			if len(n.Body) > 0 && endsPause(n.List...) {
				add(n.Pos(), "Event.Pauses says what ends a pause")
			}
		case *ast.BinaryExpr:
			if n.Op == token.LOR && endsPause(n) {
				add(n.Pos(), "Event.Pauses says what ends a pause")
				return false
			}
		case *ast.SelectorExpr:
			if what := decided[n.Sel.Name]; what != "" && !cases[n] {
				add(n.Pos(), n.Sel.Name+": "+what)
			}
		}
		return true
	})
	return faults
}

// endsPause reports whether both events that end a pause are named.
func endsPause(list ...ast.Expr) bool {
	named := make(map[string]bool)
	for _, e := range list {
		ast.Inspect(e, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				named[sel.Sel.Name] = true
			}
			return true
		})
	}
	return named["RunResumed"] && named["CancelRequested"]
}

func TestStoreRule(t *testing.T) {
	for body, want := range map[string]int{
		"switch e.Type { case world.RunResumed, world.CancelRequested: paused = false }":      1,
		"switch e.Type { case world.RunResumed, world.CancelRequested, world.HookConflict: }": 0,
		"switch e.Type { case world.RunResumed: f(); case world.CancelRequested: g() }":       0,
		"if e.Type == world.CancelRequested || e.Type == world.RunResumed { paused = false }": 1,
		"e := world.Event{Type: world.HookConflict}":                                          1,
		"e := world.Event{Type: world.HookConflict} //lint:allow it is read, not decided":     0,
		"e := &world.Error{Code: world.CodeRunExists}":                                        1,
		"if d.Wakes() { return }":                                   1,
		"if world.Frees(events, id) { return }":                     1,
		"if paused, says := e.Pauses(); says { q.paused = paused }": 0,
	} {
		src := "package sqlite\nfunc f() { " + body + "\n}"
		if got := storeRule(mustParse(t, "world/sqlite/x.go", src)); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", body, got, want)
		}
		for _, path := range []string{"world/rules/x.go", "world/sqlite/x_test.go", "server/x.go"} {
			if got := storeRule(mustParse(t, path, src)); len(got) != 0 {
				t.Errorf("%s: %s: got %q, want none", path, body, got)
			}
		}
	}
}
