package analysis

// Which code is workflow code: the functions of a package, and what each of them is.

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
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
	comes   map[*rule]reach // what it comes to, of a function of the host
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

// code is what is known of a package while it is read.
type code struct {
	pass      *analysis.Pass
	info      *types.Info
	root      inspector.Cursor
	functions map[ast.Node]*function
	order     []*function
	declared  map[*types.Func]*function
	values    map[*types.Var][]ast.Expr         // what variables of function types are set to
	uses      map[*types.Var][]inspector.Cursor // of variables
	writes    map[*types.Var][]write
	allow     *allowances
	found     findings
	fits      map[*types.Func][]*types.Func // methods that calls of interfaces may come to
}

// read is the analyzer that the rules share.
func read(pass *analysis.Pass) (any, error) {
	path := pass.Pkg.Path()
	if ofLibrary(path) || standard(pass) {
		return findings{}, nil
	}
	c := &code{pass: pass, info: pass.TypesInfo, root: pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), found: findings{}, functions: map[ast.Node]*function{}, declared: map[*types.Func]*function{},
		values: map[*types.Var][]ast.Expr{}, uses: map[*types.Var][]inspector.Cursor{}, writes: map[*types.Var][]write{}, fits: map[*types.Func][]*types.Func{}}
	c.allow = allowancesOf(c)
	finder{c}.variables()
	finder{c}.find()
	for _, f := range c.order {
		effects{c}.look(f)
		orders{c}.mapOrders(f)
	}
	effects{c}.settle()
	variables{c}.leave()
	effects{c}.tell()
	if c.imports(module) {
		c.judge()
	}
	c.allow.unused(c)
	return c.found, nil
}

// standard reports whether a package is of the standard library, whose functions are known by name.
func standard(pass *analysis.Pass) bool {
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return !strings.Contains(first, ".") && first != "command-line-arguments" && (pass.Module == nil || pass.Module.Path == "" || pass.Module.Path == "std")
}

// imports reports whether the package imports another.
func (c *code) imports(path string) bool {
	for _, p := range c.pass.Pkg.Imports() {
		if p.Path() == path {
			return true
		}
	}
	return false
}

// report notes a finding, unless its line says that it is allowed.
func (c *code) report(r *rule, at ast.Node, message string, fixes ...analysis.SuggestedFix) {
	if c.allow.allows(r, c.pass.Fset.Position(at.Pos())) {
		return
	}
	c.found[r.name] = append(c.found[r.name], analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(), Category: r.name, Message: message + r.see(), URL: page + "#" + r.anchor, SuggestedFixes: fixes,
	})
}

// variables finds what variables of function types are set to; where all are used, and where they are changed.
func (c finder) variables() {
	for cur := range c.root.Preorder((*ast.Ident)(nil), (*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.KeyValueExpr)(nil), (*ast.IncDecStmt)(nil), (*ast.CallExpr)(nil), (*ast.RangeStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.Ident:
			if v, ok := c.info.Uses[n].(*types.Var); ok && !v.IsField() {
				c.uses[v] = append(c.uses[v], cur)
			}
		case *ast.AssignStmt:
			c.assigned(cur, n)
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && len(n.Values) == len(n.Names) {
					c.set(c.info.Defs[name], n.Values[i])
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				c.set(c.info.Uses[key], n.Value)
			}
		case *ast.IncDecStmt:
			c.wrote(cur, n.X, false)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				c.wrote(cur, n.Key, false)
				c.wrote(cur, n.Value, false)
			}
		case *ast.CallExpr:
			c.changing(cur, n)
		}
	}
}

func (c finder) assigned(cur inspector.Cursor, n *ast.AssignStmt) {
	for i, to := range n.Lhs {
		if len(n.Lhs) == len(n.Rhs) {
			c.set(c.varOf(to), n.Rhs[i])
		}
		if n.Tok != token.DEFINE || !c.defines(to) {
			c.wrote(cur, to, false)
		}
	}
}

// defines reports whether a name on the left of := is new there.
func (c finder) defines(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "_" || c.info.Defs[id] != nil)
}

// set notes what a variable of a function type is set to.
func (c finder) set(o types.Object, to ast.Expr) {
	if v, ok := o.(*types.Var); ok && isFunc(v.Type()) {
		v = v.Origin()
		c.values[v] = append(c.values[v], to)
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

// find finds the functions of the package, outer ones first, and what they are.
func (c finder) find() {
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
			if has(f.sig, isContext) || f.sig.Recv() != nil && isContext(f.sig.Recv().Type()) {
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
		return outer, true
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
	switch {
	case f == nil || f.Pkg() == nil: // a function value, or a builtin
	case spawn[f.Pkg().Path()+strings.TrimPrefix(called(f), f.Pkg().Name())] || spawn[f.Pkg().Path()+"."+called(f)]:
		return foreign
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
