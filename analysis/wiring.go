package analysis

// What a program hands to its workflows before it runs: functions that it puts into fields and variables of their
// packages, and types that it puts in the place of their interfaces.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// wiring is how a program puts its parts together.
type wiring struct{ *code }

// wired is the fact of a variable, a field or a method of an interface that workflow code calls.
type wired struct{ Where string }

// AFact marks a fact.
func (*wired) AFact() {}

func (f *wired) String() string { return "called by workflow code" }

// find leaves facts of what workflow code calls, and reports what those of other packages are set to.
func (c wiring) find() {
	if !c.ours() {
		return
	}
	if c.importsLibrary() {
		c.leave()
	}
	for v := range c.values {
		if where, ok := c.calledAt(v); ok {
			for _, t := range c.see.held(v, map[types.Object]bool{}) {
				c.tell(t.at, v.Name(), where, effects(c).ofTarget(t))
			}
		}
	}
	c.interfaces()
}

// calledAt is where workflow code of another package calls something.
func (c wiring) calledAt(o types.Object) (where string, ok bool) {
	if o.Pkg() == nil || !c.sibling(o.Pkg()) {
		return "", false
	}
	var fact wired
	ok = c.pass.ImportObjectFact(o, &fact)
	return fact.Where, ok
}

// leave notes what workflow code calls, and what functions of the program do that it calls.
func (c wiring) leave() {
	seen := map[*function]bool{}
	var of func(*function)
	of = func(f *function) {
		if f == nil || seen[f] {
			return
		}
		seen[f] = true
		for _, o := range f.through {
			if v, ok := o.(*types.Var); o.Pkg() == c.pass.Pkg && (o.Exported() || ok && v.Kind() == types.ParamVar) {
				c.pass.ExportObjectFact(o, &wired{c.where(f.cur.Node().Pos())})
			}
		}
		for _, call := range f.calls {
			of(call.lit)
			for _, o := range call.to {
				if g, ok := o.(*types.Func); ok && c.declared[g] != nil && c.declared[g].role == host {
					of(c.declared[g])
				}
			}
		}
	}
	for _, f := range c.order {
		if f.role == workflow {
			of(f)
		}
	}
}

// tell reports what is put somewhere by the program: what workflow code has itself counts there.
func (c wiring) tell(at ast.Node, as, where string, all map[*rule]reach) {
	cur, ok := c.root.FindNode(at)
	if !ok {
		return
	}
	if in := c.around(cur); in != nil && in.whole().role != host {
		return
	}
	for _, r := range rules {
		if from, ok := all[r]; ok {
			c.report(r, at, fmt.Sprintf("workflow code calls this as %s (%s), and it comes to %s (%s): %s; call it in a step there", as, where, from.what, from.where, r.why))
		}
	}
}

// interfaces reports types whose methods workflow code of another package calls through an interface.
func (c wiring) interfaces() {
	told := map[token.Pos]bool{}
	into := func(t types.Type, e ast.Expr) {
		to, ok := types.Unalias(t).(*types.Named)
		if !ok || to.Obj().Pkg() == nil || to.Obj().Pkg() == c.pass.Pkg || told[e.Pos()] {
			return
		}
		iface, ok := to.Underlying().(*types.Interface)
		from := c.info.TypeOf(e)
		if !ok || from == nil || types.IsInterface(from) {
			return
		}
		for m := range iface.Methods() {
			where, ok := c.calledAt(m)
			if !ok {
				continue
			}
			o, _, _ := types.LookupFieldOrMethod(from, true, c.pass.Pkg, m.Name())
			fn, ok := o.(*types.Func)
			if !ok || fn.Pkg() == nil || fn.Pkg() == to.Obj().Pkg() || slices.Contains(to.Obj().Pkg().Imports(), fn.Pkg()) {
				continue // it is found where it is called
			}
			told[e.Pos()] = true
			c.tell(e, to.Obj().Name()+"."+m.Name(), where, effects(c).ofTarget(target{fn: fn.Origin(), at: e}))
		}
	}
	for cur := range c.root.Preorder((*ast.CallExpr)(nil), (*ast.KeyValueExpr)(nil), (*ast.AssignStmt)(nil), (*ast.CompositeLit)(nil), (*ast.ValueSpec)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			sig, ok := typeOf(c.info, n.Fun).(*types.Signature)
			for i, arg := range n.Args {
				if c.info.Types[n.Fun].IsType() {
					into(c.info.TypeOf(n.Fun), arg)
				} else if ok && i < sig.Params().Len() {
					into(sig.Params().At(i).Type(), arg)
				}
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				if v, ok := c.info.Uses[id].(*types.Var); ok && v.IsField() {
					into(v.Type(), n.Value)
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if t := c.info.TypeOf(to); t != nil && len(n.Lhs) == len(n.Rhs) {
					into(t, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for _, e := range n.Values {
				if n.Type != nil {
					into(c.info.TypeOf(n.Type), e)
				}
			}
		case *ast.CompositeLit:
			if t, ok := deref(typeOf(c.info, n)).(*types.Struct); ok && len(n.Elts) == t.NumFields() {
				for i, e := range n.Elts {
					if _, named := e.(*ast.KeyValueExpr); !named {
						into(t.Field(i).Type(), e)
					}
				}
			}
		}
	}
}
