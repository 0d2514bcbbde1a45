package analysis

// What functions do that workflow code must not: by themselves, and by what they call. It travels between packages as
// facts.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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
	to  []*types.Func // more than one of an interface
	lit *function     // or a literal, that is in a variable
	as  string        // the name of that
}

// reach is how a function comes to what it must not do.
type reach struct {
	what, where string
	use         string
	module      string // whose code does it
}

// comesTo is the fact of a function that comes to what workflow code must not do.
type comesTo struct{ All []reached }

// reached is one of it.
type reached struct{ Rule, What, Where, Use, Module string }

// AFact marks a fact.
func (*comesTo) AFact() {}

func (f *comesTo) String() string {
	var names []string
	for _, r := range f.All {
		names = append(names, r.Rule)
	}
	return "comes to " + strings.Join(names, ", ")
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
		case *ast.Ident:
			c.named(f, cur, n)
		}
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
		o = o.Origin()
		if e := known(o); e != nil && o.Pkg() != nil {
			c.touched(f, touch{rule: e.rule, at: whole, what: o.Pkg().Name() + "." + o.Name(), use: e.use})
		}
		if cur.ParentEdgeKind() == edge.CallExpr_Fun && isFunc(o.Type()) {
			c.value(f, whole, o)
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
	to := []*types.Func{o}
	if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		to = c.implementations(o)
	}
	if len(to) > 0 {
		f.calls = append(f.calls, call{at: at, to: to, as: called(o)})
	}
}

// value notes a call of a function that is in a variable: all that it is ever set to, in this package.
func (c effects) value(f *function, at ast.Expr, v *types.Var) {
	if !v.IsField() && v.Parent() != c.pass.Pkg.Scope() {
		return // where a local one is set says what it is
	}
	for _, e := range c.values[v] {
		e = ast.Unparen(e)
		if lit, ok := e.(*ast.FuncLit); ok {
			if g := c.functions[lit]; g != nil && !g.runs && g.role == host && g != f {
				f.calls = append(f.calls, call{at: at, lit: g, as: v.Name()})
			}
			continue
		}
		if o, ok := c.varOf(e).(*types.Func); ok && o.Pkg() != nil && !ofLibrary(o.Pkg().Path()) && !c.pure(o) {
			if k := known(o.Origin()); k != nil {
				c.touched(f, touch{rule: k.rule, at: at, what: called(o) + ", which " + v.Name() + " is set to,", use: k.use})
				continue
			}
			f.calls = append(f.calls, call{at: at, to: []*types.Func{o.Origin()}, as: v.Name()})
		}
	}
}

// touched notes it, unless its line says that it is allowed.
func (c effects) touched(f *function, t touch) {
	if f.role == body || f.role == foreign || f.role == later {
		return
	}
	if c.allow.allows(t.rule, c.pass.Fset.Position(t.at.Pos())) {
		return
	}
	f = f.whole()
	f.touches = append(f.touches, t)
}

// settle finds what functions of the host come to, and leaves it as facts.
func (c effects) settle() {
	for _, f := range c.order {
		whole := f.whole()
		if f != whole {
			whole.calls = append(whole.calls, f.calls...)
			f.calls = nil
		}
		for _, t := range f.touches {
			if _, ok := f.comes[t.rule]; !ok && f.role == host {
				f.comes[t.rule] = reach{what: t.what, where: c.where(t.at.Pos()), use: t.use, module: c.module()}
			}
		}
	}
	for again := true; again; {
		again = false
		for _, f := range c.order {
			if f.role != host {
				continue
			}
			for _, call := range f.calls {
				for r, from := range c.reached(call) {
					if _, ok := f.comes[r]; !ok && !c.allow.allows(r, c.pass.Fset.Position(call.at.Pos())) {
						f.comes[r] = from
						again = true
					}
				}
			}
		}
	}
	for o, f := range c.declared {
		if f.role == host && len(f.comes) > 0 {
			fact := new(comesTo)
			for _, r := range rules {
				if from, ok := f.comes[r]; ok {
					fact.All = append(fact.All, reached{r.name, from.what, from.where, from.use, from.module})
				}
			}
			c.pass.ExportObjectFact(o, fact)
		}
	}
}

// comesOf is what a function comes to.
func (c effects) comesOf(f *types.Func) map[*rule]reach { return c.reached(call{to: []*types.Func{f}}) }

// reached is what a call comes to.
func (c effects) reached(call call) map[*rule]reach {
	all := map[*rule]reach{}
	if call.lit != nil {
		maps.Copy(all, call.lit.comes)
	}
	for _, o := range call.to {
		if f := c.declared[o]; f != nil {
			if f.role == host {
				maps.Copy(all, f.comes)
			}
			continue
		}
		var fact comesTo
		if !c.pass.ImportObjectFact(o, &fact) {
			continue
		}
		for _, from := range fact.All {
			r := ruleNamed(from.Rule)
			if r != nil && (r.far || from.Module == c.module()) {
				all[r] = reach{from.What, from.Where, from.Use, from.Module}
			}
		}
	}
	return all
}

// implementations are the methods that a call of an interface's may come to: of the types of this package and of
// those that it imports, where the interface is no standard one.
func (c effects) implementations(o *types.Func) []*types.Func {
	if all, ok := c.fits[o]; ok {
		return all
	}
	c.fits[o] = nil
	iface, ok := o.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok || o.Pkg() == nil || !strings.Contains(o.Pkg().Path(), ".") && o.Pkg() != c.pass.Pkg && c.module() == "" {
		return nil
	}
	var all []*types.Func
	for _, p := range append(slices.Clone(c.pass.Pkg.Imports()), c.pass.Pkg) {
		if p != c.pass.Pkg && !strings.HasPrefix(p.Path(), c.module()) || ofLibrary(p.Path()) {
			continue
		}
		for _, name := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || types.IsInterface(t.Type()) || generic(t.Type()) {
				continue
			}
			if ptr := types.NewPointer(t.Type()); types.Implements(ptr, iface) {
				if m, _, _ := types.LookupFieldOrMethod(ptr, true, p, o.Name()); m != nil {
					if m, ok := m.(*types.Func); ok {
						all = append(all, m.Origin())
					}
				}
			}
		}
	}
	c.fits[o] = all
	return all
}

func generic(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.TypeParams().Len() > 0
}

// tell reports what workflow code does by itself, and by what it calls.
func (c effects) tell() {
	for _, f := range c.order {
		if f.role != workflow || f.runs {
			continue
		}
		for _, t := range f.touches {
			if t.rule == ruleMapOrder {
				continue
			}
			message := t.what + " in workflow code: " + t.rule.why + "; " + t.use
			var fixes []analysis.SuggestedFix
			if t.fix != nil {
				fixes = t.fix()
			}
			c.report(t.rule, t.at, message, fixes...)
		}
		for _, call := range f.calls {
			all := c.reached(call)
			for _, r := range rules {
				from, ok := all[r]
				if !ok || r == ruleMapOrder {
					continue
				}
				message := fmt.Sprintf("%s comes to %s (%s), in workflow code: %s; %s", call.as, from.what, from.where, r.why, "call it in a step, or give it what it needs")
				c.report(r, call.at, message)
			}
		}
	}
}
