package vet

// Whether a loop leaves alone the map that it ranges over: only then are its keys of before those it would have seen.

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// onlyRead reports whether a loop ranges over a variable, or a field of one, of which its body does nothing but read
// elements and the length, and which no function from elsewhere that the body may call does more with.
func (c repairs) onlyRead(loop *ast.RangeStmt) bool {
	root, path := c.pathOf(loop.X)
	if root == nil {
		return false
	}
	inBody := func(n ast.Node) bool { return loop.Body.Pos() <= n.Pos() && n.Pos() < loop.Body.End() }
	everywhere := root.Parent() == root.Pkg().Scope()
	if everywhere && root.Exported() {
		return false
	}
	for _, use := range c.uses[root] {
		id := use.Node().(*ast.Ident)
		if loop.X.Pos() <= id.Pos() && id.Pos() < loop.X.End() {
			continue
		}
		if (everywhere || inBody(id) || c.fromElsewhere(use, root, loop)) && !c.leaves(use, path) {
			return false
		}
	}
	for v, of := range c.alias { // another variable of the same map
		if of != root || loop.Pos() <= v.Pos() && v.Pos() < loop.End() {
			continue
		}
		for _, use := range c.uses[v] {
			if inBody(use.Node()) {
				return false
			}
		}
	}
	return true
}

// fromElsewhere reports whether a use is in a literal that is not around the loop: the loop may call it.
func (c repairs) fromElsewhere(use inspector.Cursor, root *types.Var, loop *ast.RangeStmt) bool {
	for up := range use.Enclosing((*ast.FuncLit)(nil)) {
		lit := up.Node()
		around := lit.Pos() <= loop.Pos() && loop.End() <= lit.End()
		own := lit.Pos() <= root.Pos() && root.Pos() < lit.End()
		if !around && !own {
			return true
		}
	}
	return false
}

// pathOf is the variable that an expression is, or is a field of, with the fields on the way; nil: it is something
// else.
func (c repairs) pathOf(e ast.Expr) (root *types.Var, path []*types.Var) {
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := c.info.Uses[e].(*types.Var)
		if !ok || v.Pkg() == nil {
			return nil, nil
		}
		return v, nil
	case *ast.SelectorExpr:
		sel := c.info.Selections[e]
		if sel == nil || sel.Kind() != types.FieldVal || len(sel.Index()) != 1 {
			return nil, nil
		}
		root, path = c.pathOf(e.X)
		return root, append(path, sel.Obj().(*types.Var))
	}
	return nil, nil
}

// leaves reports whether a use of a variable leaves alone the map at a path below it: it is of another field, it reads
// an element, or it asks for the length.
func (c repairs) leaves(use inspector.Cursor, path []*types.Var) bool {
	for _, f := range path {
		for use.ParentEdgeKind() == edge.ParenExpr_X {
			use = use.Parent()
		}
		if use.ParentEdgeKind() != edge.SelectorExpr_X {
			return false
		}
		use = use.Parent()
		sel := c.info.Selections[use.Node().(*ast.SelectorExpr)]
		if sel == nil || sel.Kind() != types.FieldVal || len(sel.Index()) != 1 {
			return false
		}
		if sel.Obj() != f {
			return true
		}
	}
	for use.ParentEdgeKind() == edge.ParenExpr_X {
		use = use.Parent()
	}
	switch use.ParentEdgeKind() {
	case edge.CallExpr_Args:
		call := use.Parent().Node().(*ast.CallExpr)
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		return ok && id.Name == "len" && c.info.Types[call.Fun].IsBuiltin()
	case edge.IndexExpr_X:
		use = use.Parent()
	default:
		return false
	}
	for use.ParentEdgeKind() == edge.ParenExpr_X {
		use = use.Parent()
	}
	switch use.ParentEdgeKind() {
	case edge.AssignStmt_Lhs, edge.IncDecStmt_X, edge.RangeStmt_Key, edge.RangeStmt_Value:
		return false
	}
	return true
}
