package analysis

// Errors of operations, what is started and not waited for, and what is deferred.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// endings are how what was begun ends: with an error, not at all, in a deferred function.
type endings struct{ *code }

// errors reports operations of a function whose errors nobody looks at, and what it starts and forgets.
func (c endings) errors(f *function) {
	for cur := range c.inside(f) {
		stmt := cur.Node()
		call := dropped(stmt)
		if call == nil {
			continue
		}
		op := c.operation(call)
		if op == nil {
			continue
		}
		switch _, bare := stmt.(*ast.ExprStmt); {
		case bare && lastIsError(op.Signature()):
			c.report(ruleErrors, call, fmt.Sprintf("the error of %s is ignored: it is where a cancelled run is told to stop", called(op)))
		case c.forgotten(call, op):
			c.report(ruleUnawaited, call, fmt.Sprintf("what %s starts is not waited for: it ends where the run ends, done or not; keep the future and call its Get", called(op)))
		}
	}
}

// dropped is the call of a statement whose results are all thrown away.
func dropped(n ast.Node) *ast.CallExpr {
	var e ast.Expr
	switch n := n.(type) {
	case *ast.ExprStmt:
		e = n.X
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if id, ok := to.(*ast.Ident); !ok || id.Name != "_" {
				return nil
			}
		}
		if len(n.Rhs) == 1 {
			e = n.Rhs[0]
		}
	}
	if e == nil {
		return nil
	}
	call, _ := ast.Unparen(e).(*ast.CallExpr)
	return call
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

func lastIsError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && isError(sig.Results().At(n-1).Type())
}

// forgotten reports whether a call starts what does work that somebody has to wait for. A coroutine that listens for
// as long as the run lasts has no end to wait for.
func (c endings) forgotten(call *ast.CallExpr, op *types.Func) bool {
	switch op.Name() {
	case "Go":
		if len(call.Args) != 2 {
			return false
		}
		lit, ok := call.Args[1].(*ast.FuncLit)
		return ok && c.works(lit.Body) && !c.tells(lit)
	case "Start":
		recv := op.Signature().Recv()
		if recv == nil || strings.Contains(c.text(call), "Detached") {
			return false
		}
		p, ok := recv.Type().(*types.Pointer)
		return ok && (isNamed(p.Elem(), module, "RegisteredStep") || isNamed(p.Elem(), module, "ChildCall") && c.direct(call))
	}
	return false
}

// tells reports whether a coroutine writes a variable from around it, by which others see how far it is.
func (c endings) tells(lit *ast.FuncLit) bool {
	for v, writes := range c.writes {
		if lit.Pos() <= v.Pos() && v.Pos() < lit.End() {
			continue
		}
		for _, w := range writes {
			if lit.Pos() <= w.at.Pos() && w.at.Pos() < lit.End() {
				return true
			}
		}
	}
	return false
}

// direct reports whether the options of a child can be seen where it is started.
func (c endings) direct(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	made, ok := sel.X.(*ast.CallExpr)
	return ok && !made.Ellipsis.IsValid()
}

// works reports whether a coroutine runs steps or children, and then ends.
func (c endings) works(n ast.Node) bool {
	works, listens := false, false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			listens = listens || n.Cond == nil
		case *ast.CallExpr:
			if op := c.operation(n); op != nil {
				switch op.Name() {
				case "Step", "Do", "Run":
					works = true
				case "Wait", "Receive", "Next", "All", "Await", "Sleep", "AwaitTimeout":
					listens = true
				}
			}
		}
		return true
	})
	return works && !listens
}

// deferred reports operations that a function defers, which are not done when its code panics.
func (c endings) deferred(f *function) {
	for cur := range c.inside(f) {
		d, ok := cur.Node().(*ast.DeferStmt)
		if !ok {
			continue
		}
		if op := c.operation(d.Call); op != nil {
			if op.Name() != "Dispose" && op.Name() != "CloseStream" {
				c.report(ruleDeferred, d, fmt.Sprintf("%s is deferred: it is not done when the code panics, and its error is ignored; use Compensate, or recover first", called(op)))
			}
			continue
		}
		lit, ok := d.Call.Fun.(*ast.FuncLit)
		if !ok {
			continue
		}
		recovers := c.recovers(lit)
		if op := c.asks(lit.Body); op != "" && !recovers.IsValid() {
			c.report(ruleDeferred, d, fmt.Sprintf("%s in a deferred function: it is not done when the code panics; use Compensate, or recover first", op))
		}
		if recovers.IsValid() && c.swallows(lit) && c.asks(f.block()) != "" {
			c.report(ruleRecovered, span{recovers, recovers + 7}, "recover swallows each panic of code that asks for steps: the run goes on as if nothing had been; make an error of what recover returns")
		}
	}
}

// recovers is where a literal recovers.
func (c endings) recovers(lit *ast.FuncLit) (at token.Pos) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && c.builtin(call, "recover") && !at.IsValid() {
			at = call.Pos()
		}
		return !at.IsValid()
	})
	return at
}

func (c *code) builtin(call *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && id.Name == name && c.info.Types[call.Fun].IsBuiltin()
}

// swallows reports whether what recover returns is thrown away.
func (c endings) swallows(lit *ast.FuncLit) (found bool) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok {
			if call := dropped(s); call != nil && c.builtin(call, "recover") {
				found = true
			}
		}
		return !found
	})
	return found
}

// leaves reports panics.
func (c endings) leaves(f *function) {
	if f.lit != nil && c.recovers(f.lit).IsValid() {
		return // it panics again
	}
	for cur := range c.inside(f) {
		call, ok := cur.Node().(*ast.CallExpr)
		if !ok || !c.builtin(call, "panic") || c.unreachable(cur) {
			continue
		}
		c.report(rulePanics, call, "a panic in workflow code blocks the run until other code is deployed; a run that should fail returns an error")
	}
}

// unreachable reports whether a panic stands where the code cannot come: the default of a switch.
func (c endings) unreachable(cur inspector.Cursor) bool {
	for up := range cur.Enclosing((*ast.CaseClause)(nil)) {
		if up.ParentEdgeKind() == edge.BlockStmt_List && up.Node().(*ast.CaseClause).List == nil {
			return true
		}
		break
	}
	return false
}
