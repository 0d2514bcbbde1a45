package vet

// What a program keeps in a struct whose methods are its workflows: all runs have it in common, as they have globals.

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// programs are such structs.
type programs struct{ *code }

// ofMany reports whether runs have a value of a type in common: a method of it, by its pointer, is given to Define or
// DefineStep, or a global points at one with such methods; and no workflow code makes one for its run.
func (c programs) ofMany(t types.Type) bool {
	if c.once.common == nil {
		c.once.common = map[*types.TypeName]bool{}
		c.find()
	}
	name := pointedAt(t)
	return name != nil && c.once.common[name]
}

// pointedAt is the name of the type that a pointer points at, or nil.
func pointedAt(t types.Type) *types.TypeName {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nil
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok {
		return nil
	}
	return n.Origin().Obj()
}

func (c programs) find() {
	note := func(t types.Type, is bool) {
		if name := pointedAt(t); name != nil && name.Pkg() == c.pass.Pkg {
			c.once.common[name] = is
		}
	}
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		f := c.callee(call)
		if f == nil || f.Pkg() == nil || f.Pkg().Path() != module || f.Name() != "Define" && f.Name() != "DefineStep" || len(call.Args) < 2 {
			continue
		}
		if sel, ok := ast.Unparen(call.Args[1]).(*ast.SelectorExpr); ok {
			if o, ok := c.info.Uses[sel.Sel].(*types.Func); ok && o.Signature().Recv() != nil {
				note(o.Signature().Recv().Type(), true)
			}
		}
	}
	for _, name := range c.pass.Pkg.Scope().Names() {
		if v, ok := c.pass.Pkg.Scope().Lookup(name).(*types.Var); ok {
			if t := pointedAt(v.Type()); t != nil && c.hasWorkflows(t) {
				note(v.Type(), true)
			}
		}
	}
	for cur := range c.root.Preorder((*ast.CompositeLit)(nil)) {
		if f := c.around(cur); f != nil && f.whole().role == workflow {
			if t := c.info.TypeOf(cur.Node().(*ast.CompositeLit)); t != nil {
				note(types.NewPointer(t), false)
			}
		}
	}
}

// hasWorkflows reports whether a type has methods that are workflow code.
func (c programs) hasWorkflows(t *types.TypeName) bool {
	for o, f := range c.declared {
		if recv := o.Signature().Recv(); f.role == workflow && recv != nil && pointedAt(recv.Type()) == t {
			return true
		}
	}
	return false
}

// fieldOf is the field of what runs have in common that an expression is, or is an element of; nil: it is none.
func (c programs) fieldOf(e ast.Expr) *types.Var {
	sel, ok := ast.Unparen(container(e)).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	v, ok := c.info.Uses[sel.Sel].(*types.Var)
	t := c.info.TypeOf(sel.X)
	if !ok || !v.IsField() || t == nil || !c.ofMany(t) || ofOurs(v.Type()) || !variables(c).isData(v) {
		return nil
	}
	return v.Origin()
}

// running reports whether a function runs while runs do: workflow code, the body of a step, and all that is given a
// context of the standard library.
func running(f *function) bool {
	for ; f != nil; f = f.outer {
		if f.role == workflow || f.role == body || has(f.sig, isStdContext) {
			return true
		}
	}
	return false
}

// changedByRuns are the fields that runs change, with where.
func (c programs) changedByRuns() map[*types.Var]ast.Node {
	all := map[*types.Var]ast.Node{}
	note := func(cur inspector.Cursor, e ast.Expr) {
		if v := c.fieldOf(e); v != nil && all[v] == nil && running(c.around(cur)) {
			all[v] = e
		}
	}
	for cur := range c.root.Preorder((*ast.AssignStmt)(nil), (*ast.IncDecStmt)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				note(cur, to)
			}
		case *ast.IncDecStmt:
			note(cur, n.X)
		case *ast.CallExpr:
			if (c.src.builtin(n, "delete") || c.src.builtin(n, "clear")) && len(n.Args) > 0 {
				note(cur, n.Args[0])
			}
			f := c.callee(n)
			sel, method := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if !method || f == nil || f.Pkg() == nil {
				continue
			}
			if path := f.Pkg().Path(); path == "sync/atomic" && f.Name() != "Load" || path == "sync" && called(f) == "Map.Store" {
				note(cur, sel.X)
			}
		}
	}
	return all
}

// reads reports what workflow code reads of such a struct that runs change.
func (c programs) reads() {
	changed := c.changedByRuns()
	if len(changed) == 0 {
		return
	}
	told := map[*function]map[*types.Var]bool{}
	for cur := range c.root.Preorder((*ast.SelectorExpr)(nil)) {
		v := c.fieldOf(cur.Node().(*ast.SelectorExpr))
		if v == nil || changed[v] == nil {
			continue
		}
		f := c.around(cur)
		if f == nil || f.whole().role != workflow || variables(c).onlyWrites(cur) || cur.ParentEdgeKind() == edge.AssignStmt_Lhs {
			continue
		}
		f = f.whole()
		if told[f] == nil {
			told[f] = map[*types.Var]bool{}
		}
		if told[f][v] {
			continue
		}
		told[f][v] = true
		c.report(ruleGlobals, cur.Node(), fmt.Sprintf("workflow code reads %s, which all runs have in common and change (%s): it may hold something else when the run goes on; "+
			"keep it in a variable of the workflow, or read it in a step, whose result is recorded", v.Name(), c.where(changed[v].Pos())))
	}
}
