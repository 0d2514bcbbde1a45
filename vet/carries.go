package vet

// Where a Context goes: what uses it, has it in a field or a closure, and puts it where it stays.

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// contextUse is a place where code uses a Context from around it.
type contextUse struct {
	cur  inspector.Cursor
	what string // the Context itself, as it is written there; or
	by   string // what uses it
	op   string // the operation that gets it or that it comes to, or ""
}

// contexts finds where a function uses a Context that one of some variables is or has: by itself, by a function that
// it hands it to, a method or a closure.
func (c sight) contexts(f *function, of func(*types.Var) bool, found func(contextUse)) {
	for cur := range f.cur.Preorder((*ast.Ident)(nil), (*ast.SelectorExpr)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.Ident:
			v, ok := c.info.Uses[n].(*types.Var)
			if !ok || v.IsField() || !of(v) {
				continue
			}
			if isContext(v.Type()) && !tellsAnywhere(cur) {
				found(c.see.contextHanded(cur, n))
			} else if isFunc(v.Type()) && cur.ParentEdgeKind() != edge.AssignStmt_Lhs {
				c.see.contextCalled(f, cur, n, v.Name(), found)
			}
		case *ast.SelectorExpr:
			v := c.rooted(n)
			if v == nil || !of(v) {
				continue
			}
			if c.fieldOfContext(n) {
				if !tellsAnywhere(cur) {
					found(c.see.contextHanded(cur, n))
				}
				continue
			}
			if promoted(c.info, n) {
				if !toldAnywhere(n.Sel.Name) {
					found(contextUse{cur: cur, what: c.src.text(n.X)})
				}
				continue
			}
			switch o := c.info.Uses[n.Sel].(type) {
			case *types.Func:
				if sel := c.info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal && c.see.deed(o.Origin()).uses[-1] && !isContext(v.Type()) {
					found(contextUse{cur: cur, by: called(o), op: c.see.deed(o.Origin()).op})
				}
			case *types.Var:
				if isFunc(o.Type()) && cur.ParentEdgeKind() != edge.AssignStmt_Lhs {
					c.see.contextCalled(f, cur, n, o.Name(), found)
				}
			}
		case *ast.CallExpr:
			for _, t := range c.see.targets(n.Fun) {
				d := c.see.deedOf(t)
				c.see.arguments(n, t, func(i int, arg ast.Expr) {
					typ := c.info.TypeOf(arg)
					if i < 0 || !d.uses[i] || typ == nil || isContext(typ) || !c.once.holding.holds(typ) {
						return
					}
					if v := c.rooted(arg); v != nil && of(v) {
						found(contextUse{cur: cur, by: c.see.callName(n), op: d.op})
					}
				})
			}
		}
	}
}

// contextHanded is a use of a Context itself.
func (c sight) contextHanded(cur inspector.Cursor, e ast.Expr) contextUse {
	u := contextUse{cur: cur, what: c.src.text(e)}
	if cur.ParentEdgeKind() != edge.CallExpr_Args {
		return u
	}
	call := cur.Parent().Node().(*ast.CallExpr)
	if op := c.operation(call); op != nil {
		u.op = called(op)
	} else if _, op := c.see.ask(call); op != "" {
		u.by, u.op = c.see.callName(call), op
	}
	return u
}

// contextCalled finds what a function value uses that is from around a function.
func (c sight) contextCalled(f *function, cur inspector.Cursor, e ast.Expr, name string, found func(contextUse)) {
	for _, t := range c.see.targets(e) {
		switch {
		case t.lit != nil && t.lit.around && t.lit != f && !f.within(t.lit.lit.Pos()):
			found(contextUse{cur: cur, by: name, op: t.lit.op})
			return
		case t.fn != nil && t.on != nil && !f.within(t.on.Pos()):
			typ := c.info.TypeOf(t.on)
			if typ == nil {
				continue
			}
			if d := c.see.deed(t.fn); d.uses[-1] || isContext(typ) && t.fn.Name() != "RunID" && t.fn.Name() != "Logger" {
				found(contextUse{cur: cur, by: name, op: d.op})
				return
			}
		}
	}
}

// carrier is the variable whose Context a value has, or nil.
func (c sight) carrier(e ast.Expr) *types.Var {
	e = ast.Unparen(e)
	t := c.info.TypeOf(e)
	if t == nil {
		return nil
	}
	if isContext(t) {
		switch e := e.(type) {
		case *ast.CallExpr:
			for _, arg := range e.Args {
				if v := c.see.carrier(arg); v != nil {
					return v
				}
			}
			return nil
		default:
			return c.rooted(e)
		}
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return c.see.carrier(e.X)
		}
	case *ast.CompositeLit:
		for _, elt := range e.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			if v := c.see.carrier(elt); v != nil {
				return v
			}
		}
	case *ast.CallExpr:
		if c.once.holding.holds(t) {
			for i := range e.Args { // what is appended before what it is appended to
				if v := c.see.carrier(e.Args[len(e.Args)-1-i]); v != nil {
					return v
				}
			}
		}
	case *ast.FuncLit:
		if f := c.functions[e]; f != nil && f.around {
			return c.see.aroundOf(f)
		}
	case *ast.Ident, *ast.SelectorExpr:
		if isFunc(t) {
			for _, at := range c.see.targets(e) {
				if at.lit != nil && at.lit.around {
					return c.see.aroundOf(at.lit)
				}
				if at.on == nil {
					continue
				}
				if t := c.info.TypeOf(at.on); c.see.deed(at.fn).uses[-1] || t != nil && isContext(t) && !toldAnywhere(at.fn.Name()) {
					return c.rooted(at.on)
				}
			}
			return nil
		}
		if c.once.holding.holds(t) {
			return c.rooted(e)
		}
	}
	return nil
}

// aroundOf is the variable from around a literal whose Context it uses.
func (c sight) aroundOf(f *function) (of *types.Var) {
	c.see.contexts(f, func(v *types.Var) bool { return !f.within(v.Pos()) }, func(u contextUse) {
		if e, ok := u.cur.Node().(ast.Expr); ok && of == nil {
			of = c.rooted(e)
		}
	})
	return of
}

// kept notes which Contexts a function puts into what it has a pointer to.
func (c doings) kept(f *function, d *deed) {
	numbers := map[*types.Var]int{}
	f.params(func(i int, p *types.Var) { numbers[p] = i })
	put := func(what, into ast.Expr) {
		v, to := c.see.carrier(what), c.rooted(into)
		from, one := numbers[v]
		at, two := numbers[to]
		if one && two && from != at && v != nil && (sharing(to.Type()) || alterations(c).derefs(into)) {
			d.keeps[[2]int{from, at}] = true
		}
	}
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && alterations(c).derefs(to) {
					put(n.Rhs[i], to)
				}
			}
		case *ast.CallExpr:
			c.see.handsOver(n, func(what, into ast.Expr, _ target) { put(what, into) })
		}
	}
}

// handsOver finds the arguments of a call whose Context goes into what another points at.
func (c sight) handsOver(call *ast.CallExpr, each func(what, into ast.Expr, by target)) {
	for _, t := range c.see.targets(call.Fun) {
		d := c.see.deedOf(t)
		if len(d.keeps) == 0 {
			continue
		}
		args := map[int]ast.Expr{}
		c.see.arguments(call, t, func(i int, arg ast.Expr) { args[i] = arg })
		for k := range d.keeps {
			if args[k[0]] != nil && args[k[1]] != nil {
				each(args[k[0]], args[k[1]], t)
			}
		}
	}
}
