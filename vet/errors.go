package vet

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
		if a, ok := stmt.(*ast.AssignStmt); ok {
			c.halfDropped(a)
		}
		call := dropped(stmt)
		if call == nil {
			continue
		}
		op := c.operation(call)
		if op == nil {
			c.droppedThrough(stmt, call)
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

// halfDropped reports an operation whose result is kept and whose error is not.
func (c endings) halfDropped(a *ast.AssignStmt) {
	last, ok := a.Lhs[len(a.Lhs)-1].(*ast.Ident)
	if !ok || last.Name != "_" || len(a.Lhs) < 2 || len(a.Rhs) != 1 || dropped(a) != nil {
		return
	}
	call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return
	}
	if of := c.failing(call); of != "" {
		c.report(ruleErrors, call, fmt.Sprintf("the error of %s is ignored, and its result is used all the same: it is a zero where it failed, or the run is cancelled", of))
	}
}

// failing names what a call asks for whose error is that of an operation, or "".
func (c endings) failing(call *ast.CallExpr) string {
	if op := c.operation(call); op != nil {
		if lastIsError(op.Signature()) {
			return called(op)
		}
		return ""
	}
	if f := c.callee(call); f != nil && lastIsError(f.Signature()) && c.see.deed(f).fails {
		return fmt.Sprintf("%s, which is that of %s,", c.see.callName(call), c.see.deed(f).op)
	}
	return ""
}

// droppedThrough reports a call of a function that comes to an operation, whose error or future is thrown away.
func (c endings) droppedThrough(stmt ast.Node, call *ast.CallExpr) {
	if _, bare := stmt.(*ast.ExprStmt); !bare {
		return
	}
	if of := c.failing(call); of != "" {
		c.report(ruleErrors, call, fmt.Sprintf("the error of %s is ignored: it is where a cancelled run is told to stop", of))
		return
	}
	f := c.callee(call)
	p, ok := c.info.TypeOf(call).(*types.Pointer)
	if f == nil || !ok || c.see.library(f) || !isNamed(p.Elem(), module, "Future") {
		return
	}
	if op := c.see.deed(f).op; op == "RegisteredStep.Start" { // a child may be detached
		c.report(ruleUnawaited, call, fmt.Sprintf("what %s starts with %s is not waited for: it ends where the run ends, done or not; keep the future and call its Get", c.see.callName(call), op))
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
	switch said(op) {
	case "Go":
		if len(call.Args) != 2 {
			return false
		}
		lit, ok := call.Args[1].(*ast.FuncLit)
		return ok && c.works(lit.Body, 0) && !c.tells(lit)
	case "Start":
		recv := op.Signature().Recv()
		if recv == nil || strings.Contains(c.src.text(call), "Detached") {
			return false
		}
		p, ok := recv.Type().(*types.Pointer)
		return ok && (isNamed(p.Elem(), module, "RegisteredStep") || isNamed(p.Elem(), module, "ChildCall") && c.direct(call))
	}
	return false
}

// tells reports whether a coroutine writes a variable from around it, by which others see how far it is.
func (c endings) tells(lit *ast.FuncLit) bool {
	told := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if op := c.operation(call); op != nil && said(op) == "Tell" { // on a channel of the workflow's, where there are such
				told = true
			}
		}
		return !told
	})
	if told {
		return true
	}
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
func (c endings) works(n ast.Node, depth int) bool {
	works, listens := false, false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			listens = listens || n.Cond == nil
		case *ast.CallExpr:
			if op := c.operation(n); op != nil {
				switch said(op) {
				case "Step", "Do", "Call", "Exec", "Run", "UndoAll":
					works = true
				case "Wait", "All", "Await", "Sleep":
					listens = true
				}
			} else if f := c.declared[c.callee(n)]; f != nil && f.role == workflow && depth < 3 {
				if c.works(f.block(), depth+1) {
					works = true
				} else if c.see.deed(declaredBy(c.info, f)).op != "" {
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
			if said(op) != "Dispose" && said(op) != "CloseStream" {
				c.report(ruleDeferred, d, fmt.Sprintf("%s is deferred: it is not done when the code panics, and its error is ignored; use AddUndo, or recover first", called(op)))
			}
			continue
		}
		c.throughHelper(f, d)
		lit, ok := d.Call.Fun.(*ast.FuncLit)
		if !ok {
			continue
		}
		recovers := c.recovers(lit.Body)
		if op := c.see.asks(lit.Body); op != "" && !recovers.IsValid() {
			c.report(ruleDeferred, d, fmt.Sprintf("%s in a deferred function: it is not done when the code panics; use AddUndo, or recover first", op))
		}
		if recovers.IsValid() && c.swallows(lit.Body) && c.see.asks(f.block()) != "" {
			c.report(ruleRecovered, span{recovers, recovers + 7}, "recover swallows each panic of code that asks for steps: the run goes on as if nothing had been; make an error of what recover returns")
		}
	}
}

// throughHelper reports a function that is deferred and comes to an operation, or swallows panics.
func (c endings) throughHelper(f *function, d *ast.DeferStmt) {
	if _, lit := ast.Unparen(d.Call.Fun).(*ast.FuncLit); lit {
		return
	}
	name, op := c.see.ask(d.Call)
	recovers := false
	for _, t := range c.see.targets(d.Call.Fun) {
		var in *function
		if in = t.lit; t.fn != nil {
			in = c.declared[t.fn]
		}
		if in == nil {
			continue
		}
		if at := c.recovers(in.block()); at.IsValid() {
			recovers = true
			if c.swallows(in.block()) && c.see.asks(f.block()) != "" {
				c.report(ruleRecovered, d, fmt.Sprintf("%s swallows each panic of code that asks for steps: the run goes on as if nothing had been; make an error of what recover returns", c.see.callName(d.Call)))
			}
		}
	}
	if op != "" && !recovers && !c.disposes(op) {
		c.report(ruleDeferred, d, fmt.Sprintf("%s is deferred, and comes to %s: it is not done when the code panics; use AddUndo, or recover first", name, op))
	}
}

// disposes reports whether an operation only gives back what ends with the run.
func (c endings) disposes(op string) bool {
	return op == "Hook.Dispose" || op == "stepwell.CloseStream"
}

// recovers is where a function recovers.
func (c endings) recovers(block *ast.BlockStmt) (at token.Pos) {
	ast.Inspect(block, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && c.src.builtin(call, "recover") && !at.IsValid() {
			at = call.Pos()
		}
		return !at.IsValid()
	})
	return at
}

func (c source) builtin(call *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && id.Name == name && c.info.Types[call.Fun].IsBuiltin()
}

// swallows reports whether what recover returns is thrown away.
func (c endings) swallows(block *ast.BlockStmt) (found bool) {
	ast.Inspect(block, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok {
			if call := dropped(s); call != nil && c.src.builtin(call, "recover") {
				found = true
			}
		}
		return !found
	})
	return found || c.forgets(block)
}

// forgets reports whether nothing comes of what is recovered: it is written to a log at most.
func (c endings) forgets(block *ast.BlockStmt) bool {
	forgets := true
	outer := func(e ast.Expr) bool {
		v := c.rooted(e)
		return v == nil || v.Pos() < block.Pos() || block.End() <= v.Pos()
	}
	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); (!ok || id.Name != "_") && outer(to) {
					forgets = false
				}
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
			forgets = false
		case *ast.CallExpr:
			forgets = forgets && c.onlyTells(n)
		}
		return forgets
	})
	return forgets && c.recovers(block).IsValid()
}

// onlyTells reports whether a call changes nothing, as far as its name says: it writes to a log, or makes a text.
func (c endings) onlyTells(call *ast.CallExpr) bool {
	if c.src.builtin(call, "panic") {
		return false
	}
	f := c.callee(call)
	if f == nil || f.Pkg() == nil {
		return c.info.Types[call.Fun].IsBuiltin() || c.info.Types[call.Fun].IsType()
	}
	switch f.Pkg().Path() {
	case "log", "log/slog", "fmt", "runtime/debug":
		return true
	}
	return toldAnywhere(f.Name()) && f.Signature().Recv() != nil && isContext(f.Signature().Recv().Type())
}

// leaves reports panics.
func (c endings) leaves(f *function) {
	if f.lit != nil && c.recovers(f.lit.Body).IsValid() {
		return // it panics again
	}
	for cur := range c.inside(f) {
		call, ok := cur.Node().(*ast.CallExpr)
		if !ok || !c.src.builtin(call, "panic") || c.unreachable(cur) {
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
