package vet

// Variables of loops in functions that run when the loop has gone on.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// captures are what functions that run later share with the loop that made them.
type captures struct{ *code }

// loops reports coroutines and undo functions that share a variable with the loop which they are made in: they see what
// it holds when they come to it, which is the last round's.
func (c captures) loops(f *function) {
	for cur := range c.inside(f) {
		var block *ast.BlockStmt
		switch n := cur.Node().(type) {
		case *ast.ForStmt:
			block = n.Body
		case *ast.RangeStmt:
			block = n.Body
		default:
			continue
		}
		shared := c.shared(cur.Node())
		c.setInside(cur.Node(), block, shared)
		if len(shared) == 0 {
			continue
		}
		in, ok := cur.FindNode(block)
		if !ok {
			continue
		}
		for made := range in.Preorder((*ast.FuncLit)(nil)) {
			if op := c.runsLater(made, block); op != "" {
				c.capturedBy(made, shared, op)
			}
		}
	}
}

func (c captures) capturedBy(made inspector.Cursor, shared map[*types.Var]string, op string) {
	told := map[*types.Var]bool{}
	for cur := range made.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		v, ok := c.info.Uses[id].(*types.Var)
		if !ok || shared[v] == "" || told[v] {
			continue
		}
		told[v] = true
		c.report(ruleCaptured, id, fmt.Sprintf("what %s is given runs when the loop has gone on, and sees the %s of a later round: %s; copy it in the loop", op, v.Name(), shared[v]))
	}
}

// shared are the variables that a loop changes from round to round and that all of its rounds have in common, with the
// reason.
func (c captures) shared(loop ast.Node) map[*types.Var]string {
	all := map[*types.Var]string{}
	old := ""
	if v := c.versionAt(loop.Pos()); version.IsValid(v) && version.Compare(v, "go1.22") < 0 {
		old = "in a file of " + v + " all rounds share it"
	}
	note := func(e ast.Expr, why string) {
		if id, ok := e.(*ast.Ident); ok && why != "" {
			if v, ok := c.info.ObjectOf(id).(*types.Var); ok {
				all[v] = why
			}
		}
	}
	const around = "it is declared outside of the loop"
	switch n := loop.(type) {
	case *ast.RangeStmt:
		why := old
		if n.Tok == token.ASSIGN {
			why = around
		}
		note(n.Key, why)
		note(n.Value, why)
	case *ast.ForStmt:
		init, _ := n.Init.(*ast.AssignStmt)
		own := map[types.Object]bool{}
		if init != nil && init.Tok == token.DEFINE {
			for _, to := range init.Lhs {
				own[c.varOf(to)] = true
			}
		}
		why := func(e ast.Expr) string {
			if own[c.varOf(e)] {
				return old
			}
			return around
		}
		switch post := n.Post.(type) {
		case *ast.IncDecStmt:
			note(post.X, why(post.X))
		case *ast.AssignStmt:
			for _, to := range post.Lhs {
				note(to, why(to))
			}
		}
	}
	return all
}

// setInside adds the variables from around a loop that each of its rounds sets anew, and those that it counts with.
func (c captures) setInside(loop ast.Node, block *ast.BlockStmt, shared map[*types.Var]string) {
	outside := func(e ast.Expr) *types.Var {
		id, ok := ast.Unparen(e).(*ast.Ident)
		if !ok {
			return nil
		}
		v, ok := c.info.Uses[id].(*types.Var)
		if !ok || global(v) || isError(v.Type()) || loop.Pos() <= v.Pos() && v.Pos() < loop.End() {
			return nil
		}
		return v
	}
	for _, s := range block.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for i, to := range s.Lhs {
				if v := outside(to); v != nil && s.Tok == token.ASSIGN && (len(s.Lhs) != len(s.Rhs) || !c.src.mentions(s.Rhs[i], v)) {
					shared[v] = "it is declared outside of the loop"
				}
			}
		case *ast.IncDecStmt:
			n, ok := loop.(*ast.ForStmt)
			if v := outside(s.X); v != nil && ok && n.Cond != nil && c.src.mentions(n.Cond, v) {
				shared[v] = "it is declared outside of the loop"
			}
		}
	}
}

// versionAt is the version of Go that a file is written in.
func (c captures) versionAt(pos token.Pos) string {
	if f := c.src.fileOf(pos); f != nil && c.info.FileVersions[f] != "" {
		return c.info.FileVersions[f]
	}
	return c.pass.Pkg.GoVersion()
}

// runsLater is the operation that keeps a function for when the loop which makes it has gone on, or "".
func (c captures) runsLater(made inspector.Cursor, block *ast.BlockStmt) string {
	if made.ParentEdgeKind() != edge.CallExpr_Args {
		return ""
	}
	call := made.Parent()
	if f := c.callee(call.Node().(*ast.CallExpr)); f != nil && f.Pkg() != nil && f.Pkg().Path() == module && f.Name() == "Undo" {
		return called(f) // an option of a step, which has no Context
	}
	op := c.operation(call.Node().(*ast.CallExpr))
	switch {
	case op == nil:
		return ""
	case said(op) == "AddUndo":
		return called(op)
	case said(op) != "Go" || c.waited(call, block):
		return ""
	}
	return called(op)
}

// waited reports whether a round of a loop waits for the coroutine that it starts.
func (c captures) waited(call inspector.Cursor, block *ast.BlockStmt) bool {
	if call.ParentEdgeKind() == edge.SelectorExpr_X { // stepwell.Go(…).Get(ctx)
		return true
	}
	v := definitions(c).variable(call)
	if v == nil || v.Pos() < block.Pos() || block.End() <= v.Pos() {
		return false
	}
	for _, use := range c.uses[v] {
		if use.ParentEdgeKind() == edge.SelectorExpr_X { // its Get
			return true
		}
		if use.ParentEdgeKind() == edge.CallExpr_Args {
			if op := c.operation(use.Parent().Node().(*ast.CallExpr)); op != nil {
				return true
			}
		}
	}
	return false
}
