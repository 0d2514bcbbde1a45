package vet

// What a program hands to its workflows before it runs: functions that it puts into fields and variables of their
// packages, and types that it puts in the place of their interfaces.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// wiring is how a program puts its parts together.
type wiring struct{ *code }

// wired is the fact of a package: the variables, fields and methods of interfaces that its workflow code calls, its own
// and those of other packages, by where. They are told apart by the paths of their packages and in these.
type wired struct{ All []wire }

// wire is one of it.
type wire struct{ Name, Where string }

// AFact marks a fact.
func (*wired) AFact() {}

func (f *wired) String() string { return fmt.Sprintf("calls %d that others set", len(f.All)) }

// nameOf tells what workflow code may call from all else, or "".
func (c wiring) nameOf(o types.Object) string {
	name, ok := c.once.names[o]
	if ok {
		return name
	}
	if path, err := c.once.paths.For(o); err == nil {
		name = o.Pkg().Path() + " " + string(path)
	}
	c.once.names[o] = name
	return name
}

// caller is the workflow code that calls something which others set.
type caller struct {
	where string
	in    *types.Package
}

// sees reports whether a function is read together with the code: what it does is found where it is called.
func (by caller) sees(f *types.Func) bool {
	return f.Pkg() == by.in || slices.Contains(by.in.Imports(), f.Pkg())
}

// find leaves facts of what workflow code calls, and reports what those of other packages are set to.
func (c wiring) find() {
	if !c.ours() {
		return
	}
	if c.importsLibrary() {
		c.leave()
	}
	for v := range c.values {
		if by, ok := c.callerOf(v); ok {
			for _, t := range c.see.held(v, map[types.Object]bool{}) {
				c.tell(t.at, v.Name(), by.where, effects(c).ofTarget(t))
			}
		}
	}
	c.interfaces()
}

// callerOf is the workflow code of another package that calls something.
func (c wiring) callerOf(o types.Object) (by caller, ok bool) {
	if o.Pkg() == nil || !c.sibling(o.Pkg()) {
		return caller{}, false
	}
	if c.once.callers == nil {
		c.once.callers = map[string]caller{}
		for _, fact := range c.pass.AllPackageFacts() {
			if all, ok := fact.Fact.(*wired); ok && c.sibling(fact.Package) {
				for _, w := range all.All {
					if by, ok := c.once.callers[w.Name]; !ok || w.Where < by.where { // facts come in any order
						c.once.callers[w.Name] = caller{w.Where, fact.Package}
					}
				}
			}
		}
	}
	if len(c.once.callers) == 0 {
		return caller{}, false
	}
	by, ok = c.once.callers[c.nameOf(o)]
	return by, ok
}

// leave notes what workflow code calls, and what functions of the program do that it calls.
func (c wiring) leave() {
	seen, all := map[*function]bool{}, map[string]string{}
	var of func(*function)
	of = func(f *function) {
		if f == nil || seen[f] {
			return
		}
		seen[f] = true
		for _, o := range f.through {
			if name := c.nameOf(o); name != "" && (o.Pkg() == c.pass.Pkg || c.sibling(o.Pkg())) {
				all[name] = c.where(f.cur.Node().Pos())
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
	fact := &wired{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fact.All = append(fact.All, wire{name, all[name]})
	}
	if len(all) > 0 {
		c.pass.ExportPackageFact(fact)
	}
}

// tell reports what is put somewhere by the program: what workflow code has itself counts there.
func (c wiring) tell(at ast.Node, as, where string, all map[*rule]reach) {
	cur, ok := cursorOf(c.root, at)
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
	c.conversions(func(t types.Type, e ast.Expr) {
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
			by, ok := c.callerOf(m.Origin())
			if !ok {
				continue
			}
			told[e.Pos()] = true
			as := to.Obj().Name() + "." + m.Name()
			if isFunc(from) { // its method calls the function that it is
				for _, t := range c.see.targets(e) {
					c.tell(t.at, as, by.where, effects(c).ofTarget(t))
				}
			}
			o, _, _ := types.LookupFieldOrMethod(from, true, c.pass.Pkg, m.Name())
			if fn, ok := o.(*types.Func); ok && fn.Pkg() != nil && !by.sees(fn) {
				c.tell(e, as, by.where, effects(c).ofTarget(target{fn: fn.Origin(), at: e}))
			}
		}
	})
}

// conversions finds the expressions whose values become those of a type: what is set, handed over, returned, or put
// into a list, a map or a struct.
func (c wiring) conversions(found func(to types.Type, e ast.Expr)) {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil), (*ast.AssignStmt)(nil), (*ast.CompositeLit)(nil), (*ast.ValueSpec)(nil), (*ast.ReturnStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.CallExpr:
			if c.info.Types[n.Fun].IsType() && len(n.Args) == 1 {
				found(c.info.TypeOf(n.Fun), n.Args[0])
			} else if sig, ok := typeOf(c.info, n.Fun).(*types.Signature); ok {
				for i, arg := range n.Args {
					if p := paramOf(sig, i); p != nil {
						found(given(sig, p, n.Ellipsis.IsValid()), arg)
					}
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if t := c.info.TypeOf(to); t != nil && len(n.Lhs) == len(n.Rhs) {
					found(t, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for _, e := range n.Values {
				if n.Type != nil {
					found(c.info.TypeOf(n.Type), e)
				}
			}
		case *ast.ReturnStmt:
			if f := c.around(cur); f != nil && len(n.Results) == f.sig.Results().Len() {
				for i, e := range n.Results {
					found(f.sig.Results().At(i).Type(), e)
				}
			}
		case *ast.CompositeLit:
			c.elements(n, found)
		}
	}
}

// given is the type that an argument becomes.
func given(sig *types.Signature, p *types.Var, spread bool) types.Type {
	if list, ok := p.Type().(*types.Slice); ok && sig.Variadic() && !spread && p == sig.Params().At(sig.Params().Len()-1) {
		return list.Elem()
	}
	return p.Type()
}

// elements are those of a literal, with the types that they become.
func (c wiring) elements(n *ast.CompositeLit, found func(to types.Type, e ast.Expr)) {
	for i, e := range n.Elts {
		kv, named := e.(*ast.KeyValueExpr)
		if named {
			e = kv.Value
		}
		switch t := deref(typeOf(c.info, n)).(type) {
		case *types.Struct:
			if named {
				if v, ok := c.varOf(kv.Key).(*types.Var); ok {
					found(v.Type(), e)
				}
			} else if i < t.NumFields() {
				found(t.Field(i).Type(), e)
			}
		case *types.Slice:
			found(t.Elem(), e)
		case *types.Array:
			found(t.Elem(), e)
		case *types.Map:
			found(t.Elem(), e)
		}
	}
}
