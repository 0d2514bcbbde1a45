package vet

// Which code is workflow code: the functions of a package, and what each of them is.

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// finder finds the functions of a package and what they are, and how its variables are used.
type finder struct{ *code }

// role is what a function is to a run.
type role int

const (
	host     role = iota // code of the program; what it comes to counts where workflow code calls it
	workflow             // code that is replayed
	body                 // of a step, an undo, a registered step: it runs once, and may do what it likes
	foreign              // runs on a goroutine
	later                // is kept for somebody, and nobody can tell for whom
)

// function is one that is declared, or a literal.
type function struct {
	decl  *ast.FuncDecl // or
	lit   *ast.FuncLit
	cur   inspector.Cursor
	outer *function
	role  role
	runs  bool // a literal that runs where it stands: what it does, the function around it does
	sig   *types.Signature

	touches []touch
	calls   []call
	through []types.Object  // fields, globals and methods of interfaces that it calls
	comes   map[*rule]reach // what it comes to, of a function of the program
	op      string          // the operation that it asks for, or ""
	fails   bool            // a literal whose error is that of an operation where the run is cancelled
	around  bool            // a literal that uses a Context from around it
}

func (f *function) block() *ast.BlockStmt {
	if f.decl != nil {
		return f.decl.Body
	}
	return f.lit.Body
}

// within reports whether a position is in the function.
func (f *function) within(pos token.Pos) bool {
	return f.cur.Node().Pos() <= pos && pos < f.cur.Node().End()
}

// whole is the function that a literal runs in.
func (f *function) whole() *function {
	for f.runs && f.outer != nil {
		f = f.outer
	}
	return f
}

// find finds the functions of the package, and what they are: again, until it is known what each does with the
// functions that it is given.
func (c finder) find() {
	c.ownContexts()
	for range 4 {
		c.order, c.declared = nil, map[*types.Func]*function{}
		c.findOnce()
		if !c.importsLibrary() || !c.runParams() {
			return
		}
	}
}

// runParams finds what becomes of parameters that are functions: they run in the body of a step, or on a goroutine.
func (c finder) runParams() (more bool) {
	for _, f := range c.order {
		f.params(func(_ int, p *types.Var) {
			if !isFunc(p.Type()) || c.runs[p] != host {
				return
			}
			sig, _ := p.Type().Underlying().(*types.Signature)
			all := map[role]bool{}
			for _, use := range c.uses[p] {
				in := c.around(use)
				if r := c.goesTo(use, sig, 0); r == body || r == foreign {
					all[r] = true
				} else if in != nil && (in.role == body || in.role == foreign) {
					all[in.role] = true
				} else {
					all[host] = true
				}
			}
			if len(all) == 1 && !all[host] {
				for r := range all {
					c.runs[p] = r
				}
				more = true
			}
		})
	}
	return more
}

// findOnce finds the functions of the package, outer ones first.
func (c finder) findOnce() {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		f := &function{cur: cur, outer: c.around(cur), comes: map[*rule]reach{}}
		switch n := cur.Node().(type) {
		case *ast.FuncDecl:
			o, _ := c.info.Defs[n.Name].(*types.Func)
			if n.Body == nil || o == nil {
				continue
			}
			f.decl, f.sig = n, o.Signature()
			c.declared[o] = f
			if has(f.sig, isContext) || f.sig.Recv() != nil && isContext(f.sig.Recv().Type()) || c.owned[o] {
				f.role = workflow
			}
		case *ast.FuncLit:
			f.lit = n
			f.sig, _ = c.info.TypeOf(n).(*types.Signature)
			if f.sig == nil {
				continue
			}
			f.role, f.runs = c.roleOf(cur, f)
		}
		c.functions[cur.Node()] = f
		c.order = append(c.order, f)
	}
}

// ownContexts finds the functions that use a Context which their receiver, or a parameter, has in it: by themselves, or
// by what they hand it to. Nothing but workflow code can.
func (c finder) ownContexts() {
	if !c.importsLibrary() {
		return
	}
	var all []*function
	own := map[*function]map[*types.Var]bool{}
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		n := cur.Node().(*ast.FuncDecl)
		o, _ := c.info.Defs[n.Name].(*types.Func)
		if n.Body == nil || o == nil || has(o.Signature(), isStdContext) {
			continue
		}
		f := &function{cur: cur, decl: n, sig: o.Signature()}
		f.params(func(_ int, v *types.Var) {
			if c.once.holding.holds(v.Type()) && !isContext(v.Type()) {
				if own[f] == nil {
					own[f] = map[*types.Var]bool{}
				}
				own[f][v] = true
			}
		})
		if own[f] != nil {
			all = append(all, f)
		}
	}
	settle(all, func(f *function) bool {
		if c.owned[declaredBy(c.info, f)] || !c.usesOwn(f, own[f]) {
			return false
		}
		c.owned[declaredBy(c.info, f)] = true
		return true
	})
}

// usesOwn reports whether a function uses a Context that one of its variables has in it.
func (c finder) usesOwn(f *function, own map[*types.Var]bool) bool {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.SelectorExpr:
			if !own[c.rooted(n)] {
				continue
			}
			switch {
			case promoted(c.info, n) && !toldAnywhere(n.Sel.Name):
				return true
			case c.fieldOfContext(n) && (cur.ParentEdgeKind() == edge.CallExpr_Args || cur.ParentEdgeKind() == edge.SelectorExpr_X && !tellsAnywhere(cur)):
				return true
			}
		case *ast.CallExpr:
			if c.handsOwn(n, own) {
				return true
			}
		}
	}
	return false
}

// handsOwn reports whether a call hands what has a Context in it to a function that uses that.
func (c finder) handsOwn(call *ast.CallExpr, own map[*types.Var]bool) (found bool) {
	g := c.callee(call)
	if g == nil || g.Pkg() == nil || ofLibrary(g.Pkg().Path()) {
		return false
	}
	on := ast.Expr(nil)
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && g.Signature().Recv() != nil {
		on = sel.X
	}
	c.see.arguments(call, target{fn: g, on: on}, func(i int, arg ast.Expr) {
		if t := c.info.TypeOf(arg); t != nil && own[c.rooted(arg)] && !isContext(t) && c.once.holding.holds(t) {
			found = found || g.Pkg() != c.pass.Pkg && c.see.deed(g).uses[i] || c.owned[g]
		}
	})
	return found
}

// around is the function that something is in, or nil.
func (c *code) around(cur inspector.Cursor) *function {
	if cur = cur.Parent(); !cur.Valid() || cur.Node() == nil {
		return nil
	}
	for up := range cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return c.functions[up.Node()]
	}
	return nil
}

// roleOf is what a literal is to a run, and whether it runs where it stands.
func (c finder) roleOf(cur inspector.Cursor, f *function) (role, bool) {
	outer := host
	if f.outer != nil {
		outer = f.outer.role
	}
	switch where := c.goesTo(cur, f.sig, 0); {
	case outer == body:
		return body, where == workflow || where == host
	case where == body && speaks.bodies != nil:
		return body, false
	case has(f.sig, isContext), where == workflow && outer == host:
		return workflow, false
	case where == body:
		return body, false
	case where == foreign && outer == workflow:
		return foreign, false
	case where == later && outer == workflow && c.usesContext(f):
		return workflow, false // nothing else can call it
	case where == later && outer == workflow:
		return later, false
	case where == foreign || where == later:
		return host, false
	default:
		return outer, f.outer != nil
	}
}

// goesTo says where a function goes that is a value in an expression: host that it is called here, workflow that
// Stepwell calls it in workflow code.
func (c finder) goesTo(cur inspector.Cursor, sig *types.Signature, depth int) role {
	for cur.ParentEdgeKind() == edge.ParenExpr_X {
		cur = cur.Parent()
	}
	kept := later
	if has(sig, isStdContext) {
		kept = body
	}
	up := cur.Parent()
	switch cur.ParentEdgeKind() {
	case edge.CallExpr_Fun:
		if up.ParentEdgeKind() == edge.GoStmt_Call {
			return foreign
		}
		return host
	case edge.CallExpr_Args:
		return c.handed(up, cur.ParentEdgeIndex(), sig, depth)
	case edge.AssignStmt_Rhs:
		n := up.Node().(*ast.AssignStmt)
		if len(n.Lhs) == len(n.Rhs) {
			return c.throughVariable(c.varOf(n.Lhs[cur.ParentEdgeIndex()]), sig, kept, depth)
		}
	case edge.ValueSpec_Values:
		n := up.Node().(*ast.ValueSpec)
		if len(n.Names) == len(n.Values) {
			return c.throughVariable(c.info.Defs[n.Names[cur.ParentEdgeIndex()]], sig, kept, depth)
		}
	case edge.ReturnStmt_Results:
		if kept != body {
			return host
		}
	}
	return kept
}

// usesContext reports whether a literal uses a Context from around it.
func (c finder) usesContext(f *function) bool {
	for cur := range f.cur.Preorder((*ast.Ident)(nil)) {
		if v, ok := c.info.Uses[cur.Node().(*ast.Ident)].(*types.Var); ok && isContext(v.Type()) && !f.within(v.Pos()) {
			return true
		}
	}
	return false
}

// throughVariable says where a function goes that is in a local variable: if it is called anywhere, here.
func (c finder) throughVariable(o types.Object, sig *types.Signature, where role, depth int) role {
	v, ok := o.(*types.Var)
	if !ok || v.IsField() || depth > 4 || v.Parent() == c.pass.Pkg.Scope() {
		return where
	}
	for _, use := range c.uses[v] {
		if use.ParentEdgeKind() == edge.AssignStmt_Lhs {
			continue
		}
		switch got := c.goesTo(use, sig, depth+1); got {
		case host, workflow:
			return got
		case body:
			where = body
		}
	}
	return where
}

// spawn are functions that call what they are given on a goroutine, or later.
var spawn = map[string]bool{
	"sync.WaitGroup.Go": true, "golang.org/x/sync/errgroup.Group.Go": true, "golang.org/x/sync/errgroup.Group.TryGo": true,
	"time.AfterFunc": true, "context.AfterFunc": true, "iter.Pull": true, "iter.Pull2": true, "runtime.AddCleanup": true, "runtime.SetFinalizer": true,
}

// handed says where a function goes that is an argument of a call.
func (c finder) handed(call inspector.Cursor, i int, sig *types.Signature, depth int) role {
	n := call.Node().(*ast.CallExpr)
	if c.info.Types[n.Fun].IsType() {
		return c.goesTo(call, sig, depth)
	}
	f := c.callee(n)
	if r := c.runBy(f, n, i); r != host {
		return r
	}
	switch {
	case f == nil || f.Pkg() == nil: // a function value, or a builtin
	case spawn[f.Pkg().Path()+strings.TrimPrefix(called(f), f.Pkg().Name())] || spawn[f.Pkg().Path()+"."+called(f)]:
		return foreign
	case ofLibrary(f.Pkg().Path()) && speaks.bodies[f.Name()]:
		return body
	case ofLibrary(f.Pkg().Path()) && !has(sig, isStdContext):
		if has(f.Signature(), isContext) {
			return workflow
		}
		return later
	case f.Name() == "Run" && strings.HasPrefix(f.Pkg().Path(), "testing"):
		return host
	}
	if has(sig, isStdContext) {
		return body
	}
	if f == nil {
		if _, builtin := ast.Unparen(n.Fun).(*ast.Ident); builtin && c.info.Types[n.Fun].IsBuiltin() {
			return later // append
		}
	}
	return host
}

// runBy says what a function of this module does with a function that it is given; host: nothing is known of it.
func (c finder) runBy(f *types.Func, call *ast.CallExpr, i int) role {
	switch {
	case f == nil:
		for _, t := range c.see.targets(call.Fun) {
			if t.lit != nil {
				return c.runs[paramOf(t.lit.sig, i)]
			}
		}
	case f.Pkg() == c.pass.Pkg:
		return c.runs[paramOf(f.Signature(), i)]
	case f.Pkg() != nil && !ofLibrary(f.Pkg().Path()):
		if f.Signature().Variadic() {
			i = min(i, f.Signature().Params().Len()-1)
		}
		return c.see.deed(f).runs[i]
	}
	return host
}
