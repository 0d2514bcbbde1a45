package vet

// What comes back otherwise than it went: a value in an any.

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// loose are values in interfaces, whose types JSON does not keep.
type loose struct{ *code }

// asserted reports where workflow code takes what was recorded for a type that JSON does not have: it is none.
func (c loose) asserted(f *function) {
	recorded := map[*types.Var]string{}
	for v := range f.sig.Params().Variables() {
		if c.entries[f] != nil && !isContext(v.Type()) {
			recorded[v] = "the input"
		}
	}
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			c.results(n, recorded)
		case *ast.TypeAssertExpr:
			v := c.openRoot(n.X)
			if n.Type == nil || v == nil || recorded[v] == "" {
				continue
			}
			if t := c.info.TypeOf(n.Type); t != nil && !ofJSON(t) {
				c.report(ruleRoundTrip, n, fmt.Sprintf("%s of %s is never a %s: what JSON reads into an any is a float64, a string, a bool, a map[string]any or a []any; use a type with that field",
					c.src.text(n.X), recorded[v], types.TypeString(t, types.RelativeTo(c.pass.Pkg))))
			}
		}
	}
}

// results notes the variables that get what operations of the log return.
func (c loose) results(n *ast.AssignStmt, recorded map[*types.Var]string) {
	if len(n.Rhs) != 1 {
		return
	}
	call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return
	}
	op := c.operation(call)
	v, _ := c.varOf(n.Lhs[0]).(*types.Var)
	if v == nil {
		return
	}
	delete(recorded, v)
	if op != nil && (recordedBy[called(op)] || called(op) == "EventDef.Wait" || called(op) == "Hook.Wait") {
		recorded[v] = called(op)
	}
}

// openRoot is the variable that an expression is a part of, where all on the way is what JSON reads itself; nil: a type
// that reads itself may have put what it likes there.
func (c loose) openRoot(e ast.Expr) *types.Var {
	for {
		e = ast.Unparen(e)
		if t := c.info.TypeOf(e); t == nil || encodes(types.Unalias(t)) {
			return nil
		}
		switch x := e.(type) {
		case *ast.Ident:
			v, _ := c.info.ObjectOf(x).(*types.Var)
			return v
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// ofJSON reports whether encoding/json reads values of a type into an any.
func ofJSON(t types.Type) bool {
	t = types.Unalias(t)
	if types.IsInterface(t) {
		return true
	}
	isAny := func(t types.Type) bool {
		i, ok := types.Unalias(t).(*types.Interface)
		return ok && i.NumMethods() == 0
	}
	switch u := t.(type) {
	case *types.Basic:
		return u.Kind() == types.Float64 || u.Kind() == types.String || u.Kind() == types.Bool
	case *types.Map:
		b, ok := types.Unalias(u.Key()).(*types.Basic)
		return ok && b.Kind() == types.String && isAny(u.Elem())
	case *types.Slice:
		return isAny(u.Elem())
	}
	return false
}

// durations reports durations that are recorded in an any: they come back as the numbers of their nanoseconds.
func (c loose) durations(f *function) {
	for cur := range c.inside(f) {
		lit, ok := cur.Node().(*ast.CompositeLit)
		if !ok {
			continue
		}
		var elem types.Type
		switch u := typeOf(c.info, lit).(type) {
		case *types.Map:
			elem = u.Elem()
		case *types.Slice:
			elem = u.Elem()
		default:
			continue
		}
		if !types.IsInterface(elem) || !c.recorded(f, cur) {
			continue
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			if t := c.info.TypeOf(e); t != nil && isNamed(t, "time", "Duration") {
				c.report(ruleRoundTrip, e, "a time.Duration in an any comes back as a float64 of nanoseconds: use a type with that field, or its String")
			}
		}
	}
}

// recorded reports whether a value is given to an operation, or is what a body returns.
func (c loose) recorded(f *function, cur inspector.Cursor) bool {
	for cur.ParentEdgeKind() == edge.KeyValueExpr_Value || cur.ParentEdgeKind() == edge.CompositeLit_Elts || cur.ParentEdgeKind() == edge.UnaryExpr_X {
		cur = cur.Parent()
	}
	switch cur.ParentEdgeKind() {
	case edge.ReturnStmt_Results:
		return f.role == body && f.lit != nil && cur.ParentEdgeIndex() == 0 || f.role == workflow && c.entries[f] != nil && cur.ParentEdgeIndex() == 0
	case edge.CallExpr_Args:
		return c.operation(cur.Parent().Node().(*ast.CallExpr)) != nil
	}
	return false
}
