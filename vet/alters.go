package vet

// Which functions change what they get a pointer to: for bodies that hand a variable of the workflow on.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// alterations are what functions change of others' variables.
type alterations struct{ *code }

// alters is the fact of a function that writes what its parameters point at.
type alters struct {
	Params []int // by number; -1: the receiver
	Module string
}

// AFact marks a fact.
func (*alters) AFact() {}

func (f *alters) String() string { return fmt.Sprintf("alters %v", f.Params) }

// find finds them, and leaves facts for those who import the package.
func (c alterations) find() {
	known := map[*types.Func]map[int]bool{}
	for o, f := range c.declared {
		known[o] = map[int]bool{}
		c.params(f, func(i int, v *types.Var) {
			for _, w := range c.writes[v] {
				if f.within(w.at.Pos()) && !w.byAddr && c.through(w) {
					known[o][i] = true
				}
			}
		})
	}
	settle(c.order, func(f *function) (more bool) {
		if f.decl == nil {
			return false
		}
		all := known[c.info.Defs[f.decl.Name].(*types.Func)]
		c.handedOn(f, known, func(e ast.Expr, _ inspector.Cursor) {
			v, _ := c.rootOf(e)
			c.params(f, func(i int, p *types.Var) {
				if p == v && !all[i] && (sharing(p.Type()) || c.derefs(e)) {
					all[i], more = true, true
				}
			})
		})
		return more
	})
	for o, all := range known {
		if len(all) > 0 {
			c.pass.ExportObjectFact(o, &alters{Params: sortedKeys(all), Module: c.module()})
		}
	}
	for _, f := range c.order {
		c.handedOn(f, known, func(e ast.Expr, at inspector.Cursor) {
			if v, _ := c.rootOf(e); v != nil {
				c.altered[v] = append(c.altered[v], write{cur: at, at: e})
			}
		})
	}
	c.closures(known)
}

// closures finds where functions that are in variables are used, and notes there what these change.
func (c alterations) closures(known map[*types.Func]map[int]bool) {
	change := map[*function]map[*types.Var]bool{}
	for _, f := range c.order {
		if f.lit != nil {
			change[f] = map[*types.Var]bool{}
		}
	}
	note := func(all map[*types.Var][]write) {
		for v, writes := range all {
			for _, w := range writes {
				for in := c.around(w.cur); in != nil; in = in.outer {
					if in.lit != nil && !w.byAddr && !in.within(v.Pos()) {
						change[in][v] = true
					}
				}
			}
		}
	}
	note(c.writes)
	note(c.altered)
	for cur := range c.root.Preorder((*ast.Ident)(nil), (*ast.SelectorExpr)(nil)) {
		e := cur.Node().(ast.Expr)
		if v, ok := c.varOf(e).(*types.Var); !ok || !isFunc(v.Type()) || cur.ParentEdgeKind() == edge.AssignStmt_Lhs || cur.ParentEdgeKind() == edge.SelectorExpr_Sel || cur.ParentEdgeKind() == edge.KeyValueExpr_Key {
			continue
		}
		if _, defines := c.info.Defs[c.identOf(e)]; defines {
			continue
		}
		told := map[*types.Var]bool{}
		tell := func(v *types.Var, by ast.Expr) {
			if v != nil && !told[v] {
				told[v] = true
				c.altered[v] = append(c.altered[v], write{cur: cur, at: by})
			}
		}
		for _, t := range c.see.targets(e) {
			switch {
			case t.lit != nil && !t.lit.within(e.Pos()):
				for v := range change[t.lit] {
					tell(v, e)
				}
			case t.fn != nil && t.on != nil && c.changes(t.fn, -1, known):
				tell(c.rooted(t.on), e)
			}
		}
	}
}

// identOf is the name in an expression.
func (c alterations) identOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	}
	return nil
}

func sortedKeys(m map[int]bool) (all []int) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// params are the receiver and the parameters of a function.
func (c alterations) params(f *function, each func(int, *types.Var)) {
	if v := f.sig.Recv(); v != nil {
		each(-1, v)
	}
	for i := range f.sig.Params().Len() {
		each(i, f.sig.Params().At(i))
	}
}

// sharing reports whether a copy of a value shares what it holds.
func sharing(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		return true
	}
	return false
}

// through reports whether a write goes through a pointer, to what others have too.
func (c alterations) through(w write) bool {
	if _, call := w.cur.Node().(*ast.CallExpr); call { // slices.Sort(x), x.WriteString
		t := c.info.TypeOf(w.at.(ast.Expr))
		return t != nil && sharing(t) || c.derefs(w.at.(ast.Expr))
	}
	return c.derefs(w.at.(ast.Expr))
}

// derefs reports whether an expression is of what a pointer, a slice or a map has.
func (c alterations) derefs(e ast.Expr) bool {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.StarExpr:
			return true
		case *ast.SelectorExpr:
			if _, ok := typeOf(c.info, x.X).(*types.Pointer); ok {
				return true
			}
			e = x.X
		case *ast.IndexExpr:
			if _, array := typeOf(c.info, x.X).(*types.Array); !array {
				return true
			}
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return false
			}
			e = x.X
		default:
			return false
		}
	}
}

// handedOn finds what calls in a function hand to those that change it.
func (c alterations) handedOn(f *function, known map[*types.Func]map[int]bool, found func(ast.Expr, inspector.Cursor)) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			o := c.callee(n)
			if o == nil {
				continue
			}
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && c.changes(o, -1, known) {
				found(sel.X, cur)
			}
			for i, arg := range n.Args {
				if i >= o.Signature().Params().Len() {
					break
				}
				if c.changes(o, i, known) {
					found(arg, cur)
				}
			}
		case *ast.SelectorExpr: // a method as a value: what gets it calls it
			if o, ok := c.info.Uses[n.Sel].(*types.Func); ok && cur.ParentEdgeKind() == edge.CallExpr_Args && c.changes(o.Origin(), -1, known) {
				found(n.X, cur)
			}
		}
	}
}

// changes reports whether a function changes what a parameter points at.
func (c alterations) changes(o *types.Func, i int, known map[*types.Func]map[int]bool) bool {
	if all, ok := known[o]; ok {
		return all[i]
	}
	if o.Pkg() == nil || o.Pkg() == c.pass.Pkg || ofLibrary(o.Pkg().Path()) {
		return false
	}
	var fact alters
	return c.pass.ImportObjectFact(o, &fact) && fact.Module == c.module() && slices.Contains(fact.Params, i)
}
