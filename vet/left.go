package vet

// Waits that a loop starts in each round, and leaves behind where another future ends first.

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// leftBehind reports a wait among the futures of a Select that is started in each round of a loop around it, where the
// loop goes on though another future ended first: the wait of this round is still there, and takes what comes next.
func (c rounds) leftBehind(f *function, cur inspector.Cursor, call *ast.CallExpr) {
	op := c.operation(call)
	if op == nil || op.Pkg().Path() != module || op.Name() != "Select" || len(call.Args) < 3 || call.Ellipsis.IsValid() {
		return
	}
	futures := call.Args[1:]
	for up := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		loop := up.Node()
		if !f.within(loop.Pos()) || c.around(up) != c.around(cur) {
			return
		}
		for i, e := range futures {
			wait := c.wait(e, loop)
			if wait == nil || c.handled(futures, loop) {
				continue
			}
			for other := range futures {
				if other != i && c.goesOn(up, call, int64(other)) {
					c.report(ruleLeft, wait, fmt.Sprintf("each round starts another %s, and where another future ends first, the one of this round stays: it takes what comes next, and nobody reads it; start it before the loop, and again once it has ended, or in a part of the run that is cancelled: stepwell.WithCancel", called(c.operation(wait))))
					return
				}
			}
		}
	}
}

// wait is the call that starts a wait in each round of a loop, the same in each, that an expression is, or a variable
// of the round; or nil.
func (c rounds) wait(e ast.Expr, loop ast.Node) *ast.CallExpr {
	in := func(n ast.Node) bool { return bodyOf(loop).Pos() <= n.Pos() && n.Pos() < loop.End() }
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		v, _ := c.info.Uses[id].(*types.Var)
		if v == nil || !in(span{v.Pos(), v.Pos()}) || len(c.sets[v]) != 1 || len(c.writes[v]) > 0 {
			return nil
		}
		e = c.sets[v][0]
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || !in(call) {
		return nil
	}
	op := c.operation(call)
	if op == nil || op.Pkg().Path() != module || called(op) != "EventDef.Start" && called(op) != "Hook.Start" {
		return nil
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !c.src.same(sel.X, loop) {
		return nil
	}
	for _, arg := range call.Args { // another match, or another part of the run, takes nothing of the others
		if !c.steady(arg, loop) {
			return nil
		}
	}
	return call
}

// steady reports whether an argument of a wait has nothing of a round in it.
func (c rounds) steady(arg ast.Expr, loop ast.Node) bool {
	same := true
	ast.Inspect(arg, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := c.info.Uses[id].(*types.Var); ok && !v.IsField() {
				same = same && c.src.same(id, loop)
			}
		}
		return same
	})
	return same
}

// handled reports whether a loop looks whether a future of its rounds has ended.
func (c rounds) handled(futures []ast.Expr, loop ast.Node) (found bool) {
	vars := map[types.Object]bool{}
	for _, e := range futures {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			vars[c.info.Uses[id]] = true
		}
	}
	ast.Inspect(loop, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		if f := c.callee(call); f != nil && f.Pkg() != nil && f.Pkg().Path() == module && f.Name() == "Done" {
			ast.Inspect(call, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					found = found || vars[c.info.Uses[id]]
				}
				return !found
			})
		}
		return !found
	})
	return found
}

// goesOn reports whether a loop may go round where a future has ended first, and nothing failed.
func (c rounds) goesOn(loop inspector.Cursor, call *ast.CallExpr, first int64) bool {
	label := ""
	if l, ok := loop.Parent().Node().(*ast.LabeledStmt); ok {
		label = l.Label.Name
	}
	t := &trial{
		code: c.code, when: succeeds, within: loop.Node(), label: label, errs: map[*types.Var]failing{}, won: map[*types.Var]int64{},
		first: map[*ast.CallExpr]int64{call: first},
	}
	return t.loop(bodyOf(loop.Node()))&round != 0
}

func bodyOf(loop ast.Node) *ast.BlockStmt {
	switch n := loop.(type) {
	case *ast.ForStmt:
		return n.Body
	case *ast.RangeStmt:
		return n.Body
	}
	return nil
}
