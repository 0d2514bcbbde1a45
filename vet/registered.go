package vet

// Workflows, steps and errors that are used, and that no App can have.

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// definitions are those of workflows and steps.
type definitions struct{ *code }

// registered reports definitions that only their own methods are called of: nobody has handed them to an App. Those
// that are exported may be handed over elsewhere.
func (c definitions) registered() {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		f := c.callee(call)
		if f == nil || f.Pkg() == nil || f.Pkg().Path() != module {
			continue
		}
		switch f.Name() {
		case "Define", "DefineStep":
			v := c.variable(cur)
			if v == nil {
				v = c.field(cur)
			}
			if v != nil && c.onlyCalled(v) && (v.IsField() || global(v) || c.makesApp(cur)) {
				what := "the workflow"
				if f.Name() == "DefineStep" {
					what = "the step"
				}
				c.report(ruleRegistered, call.Fun, fmt.Sprintf("%s %s is used, and is in no list of definitions: no App of this package can run it; add it to Config.Definitions", what, v.Name()))
			}
		}
	}
	c.sentinels()
}

// makesApp reports whether the function that something is in makes an App too.
func (c definitions) makesApp(cur inspector.Cursor) (found bool) {
	f := c.around(cur)
	if f == nil {
		return false
	}
	ast.Inspect(f.whole().block(), func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			g := c.callee(call)
			found = found || g != nil && g.Name() == "New" && g.Pkg() != nil && g.Pkg().Path() == module
		}
		return !found
	})
	return found
}

// variable is the one that a call's result is put into.
func (c definitions) variable(cur inspector.Cursor) *types.Var {
	var o types.Object
	switch cur.ParentEdgeKind() {
	case edge.ValueSpec_Values:
		n := cur.Parent().Node().(*ast.ValueSpec)
		if len(n.Names) == len(n.Values) {
			o = c.info.Defs[n.Names[cur.ParentEdgeIndex()]]
		}
	case edge.AssignStmt_Rhs:
		n := cur.Parent().Node().(*ast.AssignStmt)
		if len(n.Lhs) == len(n.Rhs) {
			o = c.varOf(n.Lhs[cur.ParentEdgeIndex()])
		}
	}
	v, _ := o.(*types.Var)
	if v == nil || v.IsField() || v.Exported() && c.pass.Pkg.Name() != "main" && global(v) {
		return nil
	}
	return v
}

// field is the one of a struct that a call's result is put into; nil: there is none, or another package may use it.
func (c definitions) field(cur inspector.Cursor) *types.Var {
	var to ast.Expr
	switch cur.ParentEdgeKind() {
	case edge.KeyValueExpr_Value:
		to = cur.Parent().Node().(*ast.KeyValueExpr).Key
	case edge.AssignStmt_Rhs:
		if n := cur.Parent().Node().(*ast.AssignStmt); len(n.Lhs) == len(n.Rhs) {
			to = n.Lhs[cur.ParentEdgeIndex()]
		}
	}
	v, _ := c.varOf(to).(*types.Var)
	if v == nil || !v.IsField() || v.Pkg() != c.pass.Pkg || v.Exported() && c.pass.Pkg.Name() != "main" {
		return nil
	}
	return v.Origin()
}

// usesOf are the places where a variable or a field is used.
func (c definitions) usesOf(v *types.Var) (all []inspector.Cursor) {
	if !v.IsField() {
		return c.uses[v]
	}
	for cur := range c.root.Preorder((*ast.SelectorExpr)(nil)) {
		if used, ok := c.info.Uses[cur.Node().(*ast.SelectorExpr).Sel].(*types.Var); ok && used.Origin() == v {
			all = append(all, cur)
		}
	}
	return all
}

// onlyCalled reports whether a variable is used, and only to call methods that need its App.
func (c definitions) onlyCalled(v *types.Var) bool {
	runs := false
	for _, use := range c.usesOf(v) {
		if use.ParentEdgeKind() == edge.AssignStmt_Lhs {
			continue
		}
		if use.ParentEdgeKind() != edge.SelectorExpr_X || use.Parent().ParentEdgeKind() != edge.CallExpr_Fun {
			return false
		}
		switch use.Parent().Node().(*ast.SelectorExpr).Sel.Name {
		case "Run", "Start", "Child":
			runs = true
		default:
			return false
		}
	}
	return runs
}

// recordedBy are the operations whose errors come out of the log. Those of coroutines are handed over as they are.
var recordedBy = map[string]bool{"stepwell.Step": true, "stepwell.Do": true, "stepwell.Call": true, "stepwell.Exec": true, "RegisteredStep.Run": true, "ChildCall.Run": true, "stepwell.AwaitRun": true}

// sentinels reports errors of this package that workflow code asks for with errors.Is, errors.As or errors.AsType, and
// that no definition makes known: what comes out of a log is none of them.
func (c definitions) sentinels() {
	known := map[types.Object]bool{}
	var kinds []types.Type
	registers := false
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if f := c.callee(call); f != nil && f.Name() == "KnownError" && f.Pkg() != nil && f.Pkg().Path() == module && len(call.Args) == 2 {
			registers = true
			known[c.varOf(call.Args[1])] = true
		} else if f != nil && f.Name() == "KnownErrorType" && f.Pkg() != nil && f.Pkg().Path() == module {
			if inst, ok := c.info.Instances[calledBy(call)]; ok {
				registers = true
				kinds = append(kinds, inst.TypeArgs.At(0))
			}
		}
	}
	for _, f := range c.order {
		if f.role != workflow {
			continue
		}
		from := map[*types.Var]string{}
		for cur := range c.inside(f) {
			if s, ok := cur.Node().(ast.Stmt); ok {
				c.src.notes(s, from)
			}
			call, ok := cur.Node().(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				continue
			}
			g := c.callee(call)
			if g == nil || g.Pkg() == nil || g.Pkg().Path() != "errors" {
				continue
			}
			err, _ := c.rootOf(call.Args[0])
			if err == nil || !recordedBy[from[err]] {
				continue
			}
			if t := c.wanted(g, call); t != nil {
				if o := ownType(t, c.pass.Pkg); o != nil && !contains(kinds, t) && (!o.Exported() || c.pass.Pkg.Name() == "main" || registers) {
					name := c.typeName(t)
					c.report(ruleRegistered, call, fmt.Sprintf("errors.%s finds a %s in the error of %s only where it is known: add stepwell.KnownErrorType[%s](\"name\") to Config.Definitions", g.Name(), name, from[err], name))
				}
				continue
			}
			if g.Name() != "Is" || len(call.Args) != 2 {
				continue
			}
			v, _ := c.varOf(call.Args[1]).(*types.Var)
			if v == nil || !global(v) || v.Pkg() != c.pass.Pkg || known[v] {
				continue
			}
			if !v.Exported() || c.pass.Pkg.Name() == "main" || registers {
				c.report(ruleRegistered, call.Args[1], fmt.Sprintf("errors.Is finds %s in the error of %s only where it is known: add stepwell.KnownError(\"name\", %s) to Config.Definitions", v.Name(), from[err], v.Name()))
			}
		}
	}
}

// wanted is the type of error that a call of errors.As or errors.AsType looks for, or nil.
func (c definitions) wanted(f *types.Func, call *ast.CallExpr) types.Type {
	switch {
	case f.Name() == "AsType":
		if inst, ok := c.info.Instances[calledBy(call)]; ok {
			return inst.TypeArgs.At(0)
		}
	case f.Name() == "As" && len(call.Args) == 2:
		if p, ok := typeOf(c.info, call.Args[1]).(*types.Pointer); ok {
			return p.Elem()
		}
	}
	return nil
}

func (c definitions) typeName(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(c.pass.Pkg))
}

// ownType is the name of a type of a package, or of a pointer to one; nil: it is another's.
func ownType(t types.Type, of *types.Package) *types.TypeName {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() == of && !types.IsInterface(n) {
		return n.Obj()
	}
	return nil
}

func contains(all []types.Type, t types.Type) bool {
	return slices.ContainsFunc(all, func(other types.Type) bool { return types.Identical(other, t) })
}
