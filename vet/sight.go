package vet

// What calls come to: functions that are declared, closures in variables, fields and maps, methods that are bound to
// something, what a function returns that makes others, and what a function is given.

import (
	"go/ast"
	"go/types"
	"strings"
)

// sight sees through calls.
type sight struct{ *code }

// target is a function that a call may come to.
type target struct {
	fn  *types.Func // declared, here or in another package; or
	lit *function   // a literal
	on  ast.Expr    // what a method is called of, or bound to
	at  ast.Expr    // where it is named
}

// targets are the functions that an expression may be, or that a list or map may have: none, where nobody can tell.
func (c sight) targets(e ast.Expr) []target { return c.see.whole(e).all }

// held is what a variable is ever set to, with what that is in on the way.
type held struct {
	all     []target
	through map[types.Object]bool
}

// whole is what targets returns, with the variables on the way to it. What is in a variable is looked for once.
func (c sight) whole(e ast.Expr) *held {
	v := c.see.inVariable(e)
	if all := c.once.targeted[v]; all != nil && v != nil {
		return all
	}
	all := &held{through: map[types.Object]bool{}}
	all.all = c.see.of(e, all.through)
	if v != nil && c.once.known {
		c.once.targeted[v] = all
	}
	return all
}

// inVariable is the variable that a function is in, or the list or map that it is an element of; nil: it is in none.
func (c sight) inVariable(e ast.Expr) *types.Var {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident, *ast.SelectorExpr:
			v, _ := c.varOf(x).(*types.Var)
			return v
		default:
			return nil
		}
	}
}

func (c sight) of(e ast.Expr, seen map[types.Object]bool) (all []target) {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		if f := c.functions[e]; f != nil {
			all = append(all, target{lit: f, at: e})
		}
	case *ast.IndexListExpr:
		return c.of(e.X, seen)
	case *ast.IndexExpr:
		return c.of(e.X, seen)
	case *ast.SliceExpr:
		return c.of(e.X, seen)
	case *ast.StarExpr:
		return c.of(e.X, seen)
	case *ast.UnaryExpr:
		return c.of(e.X, seen)
	case *ast.CompositeLit:
		if !holdsFuncs(typeOf(c.info, e)) {
			return nil
		}
		for _, elt := range e.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			all = append(all, c.of(elt, seen)...)
		}
	case *ast.Ident:
		switch o := c.info.ObjectOf(e).(type) {
		case *types.Func:
			all = append(all, target{fn: o.Origin(), at: e})
		case *types.Var:
			return c.held(o, seen)
		}
	case *ast.SelectorExpr:
		switch o := c.info.Uses[e.Sel].(type) {
		case *types.Func:
			var on ast.Expr
			if sel := c.info.Selections[e]; sel != nil && sel.Kind() == types.MethodVal {
				on = e.X
			}
			if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
				for _, m := range effects(c).implementations(o.Origin()) {
					all = append(all, target{fn: m, on: on, at: e})
				}
				return all
			}
			all = append(all, target{fn: o.Origin(), on: on, at: e})
		case *types.Var:
			return c.held(o, seen)
		}
	case *ast.CallExpr:
		switch {
		case c.info.Types[e.Fun].IsType() && len(e.Args) == 1:
			return c.of(e.Args[0], seen)
		case c.src.builtin(e, "append"):
			for _, arg := range e.Args {
				all = append(all, c.of(arg, seen)...)
			}
		default:
			return c.made(e, seen)
		}
	}
	return all
}

// held are the functions that a variable is ever set to, or that it has in it, in this package.
func (c sight) held(v *types.Var, seen map[types.Object]bool) (all []target) {
	v = v.Origin()
	if seen[v] {
		return nil
	}
	seen[v] = true
	for _, e := range c.values[v] {
		all = append(all, c.of(e, seen)...)
	}
	return all
}

// made are the functions that a function of this package returns.
func (c sight) made(call *ast.CallExpr, seen map[types.Object]bool) (all []target) {
	f := c.callee(call)
	g := c.declared[f]
	if f != nil && f.Pkg() != nil && f.Pkg().Path() == "sync" && strings.HasPrefix(f.Name(), "Once") && len(call.Args) == 1 {
		return c.of(call.Args[0], seen) // OnceFunc, OnceValue
	}
	if g == nil || seen[f] {
		return nil
	}
	seen[f] = true
	for cur := range c.inside(g) {
		if ret, ok := cur.Node().(*ast.ReturnStmt); ok {
			for _, e := range ret.Results {
				if t := c.info.TypeOf(e); t != nil && holdsFuncs(t) {
					all = append(all, c.of(e, seen)...)
				}
			}
		}
	}
	return all
}

// paramOf is the parameter that an argument of a call is for.
func paramOf(sig *types.Signature, i int) *types.Var {
	n := sig.Params().Len()
	if sig.Variadic() && i >= n-1 {
		i = n - 1
	}
	if i < 0 || i >= n {
		return nil
	}
	return sig.Params().At(i)
}

// params are the receiver and the parameters of a function, by number; -1: the receiver.
func (f *function) params(each func(int, *types.Var)) {
	if v := f.sig.Recv(); v != nil {
		each(-1, v)
	}
	for i := range f.sig.Params().Len() {
		each(i, f.sig.Params().At(i))
	}
}

// arguments are what a call hands to a target: what it is a method of, and its arguments, by the numbers of their
// parameters.
func (c sight) arguments(call *ast.CallExpr, t target, each func(int, ast.Expr)) {
	if t.on != nil {
		each(-1, t.on)
	}
	var sig *types.Signature
	if t.fn != nil {
		sig = t.fn.Signature()
	} else {
		sig = t.lit.sig
	}
	args := call.Args
	if t.fn != nil && t.on == nil && sig.Recv() != nil && len(args) > 0 { // a method expression: T.method(t, …)
		each(-1, args[0])
		args = args[1:]
	}
	last := sig.Params().Len() - 1
	for i, arg := range args {
		if sig.Variadic() && i > last {
			i = last
		}
		each(i, arg)
	}
}

// rooted is the variable that an expression is of, or makes a part of: also that of a call's receiver.
func (c *code) rooted(e ast.Expr) *types.Var {
	v, _ := c.rootOf(e)
	return v
}

// isNil reports whether an expression is nil.
func (c source) isNil(e ast.Expr) bool { return c.info.Types[e].IsNil() }

// isTrue reports whether a condition is left out, or always true.
func (c source) isTrue(e ast.Expr) bool {
	if e == nil {
		return true
	}
	v := c.info.Types[e].Value
	return v != nil && v.String() == "true"
}

// fieldOfContext reports whether an expression is a Context that something has in a field.
func (c *code) fieldOfContext(sel *ast.SelectorExpr) bool {
	v, ok := c.info.Uses[sel.Sel].(*types.Var)
	return ok && v.IsField() && isContext(v.Type())
}

// promoted reports whether an expression is a method of a Context that something embeds.
func promoted(info *types.Info, sel *ast.SelectorExpr) bool {
	o, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || o.Signature().Recv() == nil || !isContext(o.Signature().Recv().Type()) {
		return false
	}
	t := info.TypeOf(sel.X)
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return t != nil && !isContext(t)
}
