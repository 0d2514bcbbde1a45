package vet

// How variables are used: what they are set to, where they are changed, and of what they are a part.

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// variables finds what variables of function types are set to; where all are used, and where they are changed.
func (c finder) variables() {
	for cur := range c.root.Preorder((*ast.Ident)(nil), (*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.KeyValueExpr)(nil), (*ast.IncDecStmt)(nil), (*ast.CallExpr)(nil), (*ast.RangeStmt)(nil), (*ast.CompositeLit)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.Ident:
			if v, ok := c.info.Uses[n].(*types.Var); ok && !v.IsField() {
				c.uses[v] = append(c.uses[v], cur)
			} else if o, ok := c.info.Uses[n].(*types.Func); ok && o.Pkg() == c.pass.Pkg {
				c.named[o.Origin()] = append(c.named[o.Origin()], cur)
			}
		case *ast.AssignStmt:
			c.assigned(cur, n)
		case *ast.ValueSpec:
			for i, name := range n.Names {
				switch {
				case len(n.Values) == len(n.Names):
					c.aliased(name, n.Values[i])
					c.keep(name, n.Values[i])
					c.set(c.info.Defs[name], n.Values[i])
				case len(n.Values) == 1:
					c.keep(name, n.Values[0])
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				c.keep(key, n.Value)
				c.set(c.info.Uses[key], n.Value)
			}
		case *ast.IncDecStmt:
			c.wrote(cur, n.X, false)
		case *ast.RangeStmt:
			if n.Value != nil {
				c.aliased(n.Value, n.X)
				c.set(c.varOf(n.Value), n.X)
			}
			if n.Tok == token.ASSIGN {
				c.wrote(cur, n.Key, false)
				c.wrote(cur, n.Value, false)
			}
		case *ast.CompositeLit:
			c.literal(n)
		case *ast.CallExpr:
			c.changing(cur, n)
			c.gives(n)
			if c.info.Types[n.Fun].IsType() && len(n.Args) == 1 {
				c.adapted(c.info.TypeOf(n.Fun), n.Args[0])
			}
		}
	}
}

func (c finder) assigned(cur inspector.Cursor, n *ast.AssignStmt) {
	for i, to := range n.Lhs {
		from := n.Rhs[0]
		if len(n.Lhs) == len(n.Rhs) {
			from = n.Rhs[i]
			c.aliased(to, from)
			c.keep(to, from)
		}
		c.set(c.varOf(container(to)), from)
		if n.Tok != token.DEFINE || !c.defines(to) {
			c.wrote(cur, to, false)
		}
	}
}

// container is the list or map that an expression is an element of, or the expression.
func container(e ast.Expr) ast.Expr {
	for {
		at, ok := ast.Unparen(e).(*ast.IndexExpr)
		if !ok {
			return e
		}
		e = at.X
	}
}

// aliased notes that a variable is a pointer to a part of another, or a slice or map of it.
func (c finder) aliased(to ast.Expr, from ast.Expr) {
	v, ok := c.varOf(to).(*types.Var)
	if !ok || v.IsField() || !sharing(v.Type()) {
		return
	}
	if whole, _ := c.rootOf(from); whole != nil && whole != v {
		if through := c.alias[whole]; through != nil && through != v {
			whole = through
		}
		c.alias[v] = whole
	}
}

// defines reports whether a name on the left of := is new there.
func (c finder) defines(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "_" || c.info.Defs[id] != nil)
}

// set notes what a variable is set to that is a function, or that has functions in it.
func (c finder) set(o types.Object, to ast.Expr) {
	if v, ok := o.(*types.Var); ok && holdsFuncs(v.Type()) {
		c.values[v.Origin()] = append(c.values[v.Origin()], to)
		c.adapted(v.Type(), to)
	}
}

// adapted notes that methods of a type of functions, as http.HandlerFunc is one, are called of a function.
func (c finder) adapted(t types.Type, to ast.Expr) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() != c.pass.Pkg || !isFunc(n) {
		return
	}
	for m := range n.Origin().Methods() {
		recv := m.Signature().Recv()
		c.values[recv] = append(c.values[recv], to)
	}
}

// holdsFuncs reports whether a type is a function, or a list or a map of such, however deep.
func holdsFuncs(t types.Type) bool {
	for range 4 {
		switch u := t.Underlying().(type) {
		case *types.Signature:
			return true
		case *types.Map:
			t = u.Elem()
		case *types.Slice:
			t = u.Elem()
		case *types.Array:
			t = u.Elem()
		case *types.Pointer:
			t = u.Elem()
		default:
			return false
		}
	}
	return false
}

// literal notes what a literal sets the fields of a struct to, without their names.
func (c finder) literal(n *ast.CompositeLit) {
	t, ok := deref(typeOf(c.info, n)).(*types.Struct)
	if !ok || len(n.Elts) != t.NumFields() {
		return
	}
	for i, e := range n.Elts {
		if _, named := e.(*ast.KeyValueExpr); named {
			return
		}
		field := t.Field(i).Origin()
		c.set(field, e)
		c.sets[field] = append(c.sets[field], e)
	}
}

// deref is what a pointer points at.
func deref(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem().Underlying()
	}
	return t
}

// gives notes what functions of this module are given for what is a function, and what methods are of.
func (c finder) gives(call *ast.CallExpr) {
	f := c.callee(call)
	if f == nil || f.Pkg() == nil || f.Pkg() != c.pass.Pkg && !c.sibling(f.Pkg()) {
		return
	}
	for i, arg := range call.Args {
		if p := paramOf(f.Signature(), i); p != nil {
			c.set(p, arg)
		}
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f.Signature().Recv() != nil {
		c.set(f.Signature().Recv(), sel.X)
	}
}

// sibling reports whether a package is another of the module.
func (c *code) sibling(p *types.Package) bool {
	path := c.module()
	return p != c.pass.Pkg && path != "" && (p.Path() == path || strings.HasPrefix(p.Path(), path+"/")) && !ofLibrary(p.Path())
}

// keep notes what a variable is set to, one value to one variable.
func (c finder) keep(to ast.Expr, from ast.Expr) {
	if v, ok := c.varOf(to).(*types.Var); ok {
		c.sets[v.Origin()] = append(c.sets[v.Origin()], from)
	}
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// varOf is the variable that an expression names: a local or global one, or a field.
func (c *code) varOf(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return c.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return c.info.Uses[e.Sel]
	}
	return nil
}

// rootOf is the variable whose value, or a part of it, an expression is: o of o.Lines[0].
func (c *code) rootOf(e ast.Expr) (*types.Var, *ast.Ident) {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			v, _ := c.info.ObjectOf(x).(*types.Var)
			return v, x
		case *ast.SelectorExpr:
			if v, ok := c.info.Uses[x.Sel].(*types.Var); ok && !v.IsField() { // of another package
				return v, x.Sel
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return nil, nil
			}
			e = x.X
		default:
			return nil, nil
		}
	}
}
