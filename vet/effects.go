package vet

// What functions do that workflow code must not, by themselves.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// effects are what functions do and come to.
type effects struct{ *code }

// touch is something that a function does by itself.
type touch struct {
	rule *rule
	at   ast.Node
	what string // for people: time.Now
	use  string // what to write instead; ""
	fix  func() []analysis.SuggestedFix
}

// call is one of another function whose code is read too, here or in another package.
type call struct {
	at  ast.Node
	to  []types.Object // functions, more than one of an interface; or a variable of another package
	lit *function      // or a literal, that is in a variable
	as  string         // the name of that
}

func (c *code) module() string {
	if c.pass.Module != nil {
		return c.pass.Module.Path
	}
	return ""
}

// where names a position, the same on every machine.
func (c *code) where(pos token.Pos) string {
	p := c.pass.Fset.Position(pos)
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(p.Filename)), filepath.Base(p.Filename), p.Line)
}

// look notes what a function does by itself, and what it calls. Literals are functions of their own.
func (c effects) look(f *function) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.GoStmt:
			c.touched(f, touch{rule: ruleGoroutines, at: n, what: "a go statement", use: "use stepwell.Go, All, Race or Map", fix: func() []analysis.SuggestedFix { return repairs(c).fixGo(f, n) }})
		case *ast.SelectStmt:
			c.touched(f, touch{rule: ruleChannels, at: n, what: "select", use: "use stepwell.Select, Race or Await"})
		case *ast.SendStmt:
			c.channel(f, cur, n, "a send on a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				c.channel(f, cur, n, "a receive from a channel")
			}
		case *ast.RangeStmt:
			if _, ok := typeOf(c.info, n.X).(*types.Chan); ok {
				c.channel(f, cur, n, "a range over a channel")
			}
			c.crunches(f, n, n.X, n.Body)
		case *ast.Ident:
			c.named(f, cur, n)
		case *ast.CallExpr:
			logs(c).prints(f, n)
			generators(c).draws(f, n)
		case *ast.ForStmt:
			if limit := limitOf(n); limit != nil {
				c.crunches(f, n, limit, n.Body)
			}
		}
	}
}

// crunches notes a loop of a function of the program that takes seconds.
func (c effects) crunches(f *function, at ast.Node, limit ast.Expr, block *ast.BlockStmt) {
	if n := c.src.many(limit); n > 0 && f.whole().role == host && !c.src.leftEarly(at, block) {
		c.touched(f, touch{rule: ruleSpins, at: at, what: fmt.Sprintf("a loop of %d rounds", n)})
	}
}

func typeOf(info *types.Info, e ast.Expr) types.Type {
	if t := info.TypeOf(e); t != nil {
		return t.Underlying()
	}
	return types.Typ[types.Invalid]
}

// channel notes what is done with one, but in a select, which is told of whole.
func (c effects) channel(f *function, cur inspector.Cursor, n ast.Node, what string) {
	for up := range cur.Enclosing((*ast.CommClause)(nil), (*ast.BlockStmt)(nil)) {
		if clause, ok := up.Node().(*ast.CommClause); ok && clause.Comm != nil && clause.Comm.Pos() <= n.Pos() && n.End() <= clause.Comm.End() {
			return
		}
		break
	}
	c.touched(f, touch{rule: ruleChannels, at: n, what: what, use: "use stepwell.Go and a Future, Await, or an event"})
}

// inside are the nodes of a function, without those of the literals in it.
func (c *code) inside(f *function) func(func(inspector.Cursor) bool) {
	return func(yield func(inspector.Cursor) bool) {
		cur, ok := f.cur.FindNode(f.block())
		if !ok {
			return
		}
		stop := false
		cur.Inspect(nil, func(cur inspector.Cursor) bool {
			if stop {
				return false
			}
			if _, lit := cur.Node().(*ast.FuncLit); lit {
				return false
			}
			stop = !yield(cur)
			return !stop
		})
	}
}

// named looks at the name of a function or variable: one that the table has, or one whose code is read.
func (c effects) named(f *function, cur inspector.Cursor, id *ast.Ident) {
	var whole ast.Expr = id
	for cur.ParentEdgeKind() == edge.SelectorExpr_Sel || cur.ParentEdgeKind() == edge.IndexExpr_X || cur.ParentEdgeKind() == edge.IndexListExpr_X || cur.ParentEdgeKind() == edge.ParenExpr_X {
		cur = cur.Parent()
		whole = cur.Node().(ast.Expr)
	}
	switch o := c.info.Uses[id].(type) {
	case *types.Func:
		o = o.Origin()
		if o.Pkg() == nil || ofLibrary(o.Pkg().Path()) || finder(c).goesTo(cur, o.Signature(), 0) != host && !c.runsHere(cur, o) {
			return
		}
		c.comes(f, cur, whole, o)
	case *types.Var:
		variables(c).reads(f, cur, whole, o)
		o = o.Origin()
		if e := known(o); e != nil && o.Pkg() != nil {
			c.touched(f, touch{rule: e.rule, at: whole, what: o.Pkg().Name() + "." + o.Name(), use: e.use})
		}
		if holdsFuncs(o.Type()) {
			for cur.ParentEdgeKind() == edge.IndexExpr_X || cur.ParentEdgeKind() == edge.ParenExpr_X || cur.ParentEdgeKind() == edge.StarExpr_X {
				cur = cur.Parent()
			}
			if cur.ParentEdgeKind() == edge.CallExpr_Fun {
				c.value(f, whole, o)
			}
		}
	}
}

// runsHere reports whether a function that is given to another function of Stepwell is called in workflow code.
func (c effects) runsHere(cur inspector.Cursor, o *types.Func) bool {
	return finder(c).goesTo(cur, o.Signature(), 0) == workflow
}

// comes notes that code comes to a function.
func (c effects) comes(f *function, cur inspector.Cursor, at ast.Expr, o *types.Func) {
	if call, ok := cur.Parent().Node().(*ast.CallExpr); ok && call.Fun == at {
		at = call
	}
	if c.pure(o) {
		return
	}
	if e := known(o); e != nil {
		if !c.harmless(o, cur) {
			c.touched(f, touch{rule: e.rule, at: at, what: called(o), use: e.use, fix: func() []analysis.SuggestedFix { return repairs(c).fixCall(f, at, o) }})
		}
		return
	}
	to := []types.Object{o}
	if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		to = nil
		for _, m := range c.implementations(o) {
			to = append(to, m)
		}
		f.through = append(f.through, o)
	}
	if len(to) > 0 {
		f.calls = append(f.calls, call{at: at, to: to, as: called(o)})
	}
}

// value notes a call of a function that is in a variable: all that it is ever set to, in this package, and what its own
// package sets it to.
func (c effects) value(f *function, at ast.Expr, v *types.Var) {
	if v.Pkg() != nil && v.Pkg() != c.pass.Pkg && !ofLibrary(v.Pkg().Path()) {
		f.calls = append(f.calls, call{at: at, to: []types.Object{v}, as: v.Name()})
	}
	if c.isParam(v) {
		return // where it is given says what it is
	}
	told, is := map[types.Object]bool{}, c.see.whole(at)
	for v := range is.through {
		f.through = append(f.through, v)
	}
	for _, t := range is.all {
		switch {
		case c.told(f, t):
		case t.lit != nil:
			if g := t.lit; !g.runs && (g.role == host || g.role == later) && g != f {
				f.calls = append(f.calls, call{at: at, lit: g, as: v.Name()})
			}
		case told[t.fn] || t.fn.Pkg() == nil || ofLibrary(t.fn.Pkg().Path()) || c.pure(t.fn):
		default:
			told[t.fn] = true
			if k := known(t.fn); k != nil {
				c.touched(f, touch{rule: k.rule, at: at, what: called(t.fn) + ", which " + v.Name() + " is set to,", use: k.use})
				continue
			}
			f.calls = append(f.calls, call{at: at, to: []types.Object{t.fn}, as: v.Name()})
		}
	}
}

// isParam reports whether a variable is a parameter of a function, and not what a method is of.
func (c effects) isParam(v *types.Var) bool { return v.Kind() == types.ParamVar }

// place is where a function is named that a variable holds.
type place struct {
	here     bool      // it is called there, or returned
	in       *function // or nil
	returned bool
}

func (c effects) placeOf(t target) (p place) {
	if p, ok := c.once.places[t.at]; ok {
		return p
	}
	cur, ok := cursorOf(c.root, t.at)
	if sig, _ := typeOf(c.info, t.at).(*types.Signature); ok && sig != nil && finder(c).goesTo(cur, sig, 0) == host {
		p = place{true, c.around(cur), cur.ParentEdgeKind() == edge.ReturnStmt_Results}
	}
	c.once.places[t.at] = p
	return p
}

// told reports whether a function that is in a variable counts already where it is named: it is called there, or
// returned to who calls it.
func (c effects) told(f *function, t target) bool {
	p := c.placeOf(t)
	return p.here && p.in != nil && (p.in.role == workflow || p.in.whole() == f.whole() || p.returned)
}

// breaks reports whether a function would break a rule if it were workflow code.
func (c effects) breaks(f *function) bool {
	return len(f.touches) > 0 || slices.ContainsFunc(f.calls, func(call call) bool { return len(c.reached(call)) > 0 })
}

// touched notes it, unless its line says that it is allowed.
func (c effects) touched(f *function, t touch) {
	if f.role == body {
		return
	}
	if c.allow.allows(t.rule, c.pass.Fset.Position(t.at.Pos())) {
		return
	}
	f = f.whole()
	f.touches = append(f.touches, t)
}
