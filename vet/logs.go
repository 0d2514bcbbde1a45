package vet

// Logs of the program in workflow code: what prints to its output, and loggers that are not the run's.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// logs are those of the program.
type logs struct{ *code }

// saying are the methods of slog.Logger that write.
var saying = []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "DebugContext", "InfoContext", "WarnContext", "ErrorContext"}

// prints notes a call that writes to the output of the program, or to a logger of it.
func (c logs) prints(f *function, call *ast.CallExpr) {
	what := ""
	if c.src.builtin(call, "println") || c.src.builtin(call, "print") {
		what = c.src.text(call.Fun)
	} else if g := c.callee(call); g != nil && g.Pkg() != nil {
		switch path := g.Pkg().Path(); {
		case path == "fmt" && strings.HasPrefix(g.Name(), "Fprint") || path == "io" && g.Name() == "WriteString":
			if to := c.standard(call.Args[0]); to != "" {
				what = called(g) + " of " + to
			}
		case path == "log/slog" && slices.Contains(saying, g.Name()) && g.Signature().Recv() != nil:
			sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
			if v := c.varBehind(sel, ok); v != nil && (c.ofProgram(v, map[*types.Var]bool{}) || c.ofMany(f, sel.X)) {
				what = called(g) + " of " + v.Name()
			}
		}
	}
	if what != "" {
		effects(c).touched(f, touch{rule: ruleLogging, at: call, what: what, use: "use ctx.Logger()"})
	}
}

// standard is the standard output or error that an expression is, or "".
func (c logs) standard(e ast.Expr) string {
	v, _ := c.varOf(e).(*types.Var)
	if v != nil && v.Pkg() != nil && v.Pkg().Path() == "os" && (v.Name() == "Stdout" || v.Name() == "Stderr") {
		return "os." + v.Name()
	}
	return ""
}

// varBehind is the variable, or the field, that a method's logger is in.
func (c logs) varBehind(sel *ast.SelectorExpr, ok bool) *types.Var {
	if !ok {
		return nil
	}
	v, _ := c.varOf(c.unlabelled(sel.X)).(*types.Var)
	return v
}

// unlabelled is the logger that With and WithGroup have been called of.
func (c logs) unlabelled(e ast.Expr) ast.Expr {
	for {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !ok {
			return e
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "With" && sel.Sel.Name != "WithGroup" || c.callee(call) == nil || c.callee(call).Signature().Recv() == nil {
			return e
		}
		e = sel.X
	}
}

// ofProgram reports whether all that a variable is ever set to, in this package, is a logger of the program: one that
// package slog has made.
func (c logs) ofProgram(v *types.Var, seen map[*types.Var]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	sets := c.sets[v.Origin()]
	for _, e := range sets {
		e = c.unlabelled(e)
		if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
			if f := c.callee(call); f != nil && f.Pkg() != nil && f.Pkg().Path() == "log/slog" {
				continue
			}
			return false
		}
		from, _ := c.varOf(e).(*types.Var)
		if from == nil || !c.ofProgram(from, seen) {
			return false
		}
	}
	return len(sets) > 0
}

// ofMany reports whether a logger is in a field of what runs have in common, or of a variable around a workflow's
// function: that of a run is in neither.
func (c logs) ofMany(f *function, e ast.Expr) bool {
	sel, ok := ast.Unparen(c.unlabelled(e)).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	t := c.info.TypeOf(sel.X)
	v := c.rooted(sel.X)
	whole := f.whole()
	return t != nil && programs(c).ofMany(t) || v != nil && !v.IsField() && whole.role == workflow && (global(v) || !c.ofWorkflow(v, whole))
}
