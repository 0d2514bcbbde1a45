package analysis

// Loops: those that a cancelled run does not leave, those whose log grows without end, and those that hold a core.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// rounds are those of loops.
type rounds struct{ *code }

// spinning is how many rounds of a loop that asks for nothing are too many.
const spinning = 100_000_000

func (c rounds) loops(f *function) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.RangeStmt:
			c.spins(n, n.X, n.Body)
		case *ast.ForStmt:
			if b, ok := n.Cond.(*ast.BinaryExpr); ok && (b.Op == token.LSS || b.Op == token.LEQ) {
				c.spins(n, b.Y, n.Body)
			}
			if n.Cond == nil {
				c.unbounded(cur, n)
			}
			c.goesOn(n)
		}
	}
}

// spins reports a loop of a number of rounds that is written down and takes seconds.
func (c rounds) spins(at ast.Node, rounds ast.Expr, block *ast.BlockStmt) {
	v := c.info.Types[rounds].Value
	if v == nil || v.Kind() != constant.Int {
		return
	}
	if n, ok := constant.Int64Val(v); ok && n >= spinning && c.asks(block) == "" {
		c.report(ruleSpins, span{at.Pos(), block.Lbrace}, "a long computation in workflow code holds a run slot and a core, at each replay; do it in a step")
	}
}

// unbounded reports a loop that asks for something in each round and that nothing but an error ends, in a function
// that does not continue as new.
func (c rounds) unbounded(cur inspector.Cursor, loop *ast.ForStmt) {
	f := c.around(cur)
	if c.asks(loop.Body) == "" || c.ends(loop) || c.coroutine(f) {
		return
	}
	continues := false
	ast.Inspect(f.whole().block(), func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if g := c.callee(call); g != nil && (g.Name() == "ContinueAsNew" && g.Pkg() != nil && ofLibrary(g.Pkg().Path())) {
				continues = true
			}
		}
		return !continues
	})
	if !continues {
		c.report(ruleUnbounded, span{loop.For, loop.For + 3}, "each round of this loop adds to the log, and nothing but an error ends it; continue as new after a number of rounds: stepwell.ContinueAsNew")
	}
}

// coroutine reports whether a function is given to Go: it may listen for as long as the code beside it goes on.
func (c rounds) coroutine(f *function) bool {
	if f.lit != nil {
		return !f.runs && f.outer != nil && f.outer.role == workflow
	}
	for cur := range c.root.Preorder((*ast.Ident)(nil)) {
		if o, ok := c.info.Uses[cur.Node().(*ast.Ident)].(*types.Func); !ok || c.declared[o.Origin()] != f {
			continue
		}
		if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
			cur = cur.Parent()
		}
		if cur.ParentEdgeKind() == edge.CallExpr_Args {
			if op := c.operation(cur.Parent().Node().(*ast.CallExpr)); op != nil && op.Name() == "Go" {
				return true
			}
		}
	}
	return false
}

// ends reports whether a loop is left where no error is.
func (c rounds) ends(loop *ast.ForStmt) bool {
	found := false
	var walk func(n ast.Node, failing, inner bool)
	walk = func(n ast.Node, failing, inner bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			if m == n || found {
				return !found
			}
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.IfStmt:
				walk(m.Cond, failing, inner)
				walk(m.Body, failing || c.aboutError(m.Cond), inner)
				if m.Else != nil {
					walk(&ast.BlockStmt{List: []ast.Stmt{m.Else}}, failing, inner)
				}
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				walk(m, failing, true)
				return false
			case *ast.ReturnStmt:
				found = found || !failing
			case *ast.BranchStmt:
				if m.Tok == token.GOTO || m.Tok == token.BREAK && (!inner || m.Label != nil) {
					found = found || !failing
				}
			}
			return !found
		})
	}
	walk(loop.Body, false, false)
	return found
}

// aboutError reports whether a condition is that there is an error.
func (c *code) aboutError(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isError(c.info.TypeOf(b.X))
}

// goesOn reports a loop that goes on behind any error of an operation: that of a cancelled run is among them, and
// comes at once.
func (c rounds) goesOn(loop *ast.ForStmt) {
	if loop.Cond != nil || loop.Post != nil {
		return
	}
	failing := map[*types.Var]string{}
	for _, s := range loop.Body.List {
		c.notes(s, failing)
		is, ok := s.(*ast.IfStmt)
		if !ok {
			continue
		}
		if is.Init != nil {
			c.notes(is.Init, failing)
		}
		if !c.aboutError(is.Cond) || len(is.Body.List) == 0 {
			continue
		}
		v, _ := c.rootOf(ast.Unparen(is.Cond).(*ast.BinaryExpr).X)
		last, ok := is.Body.List[len(is.Body.List)-1].(*ast.BranchStmt)
		if op := failing[v]; ok && last.Tok == token.CONTINUE && op != "" && !c.looks(is.Body) {
			c.report(ruleCancelled, last, op+" fails at once when the run is cancelled, and this loop never ends: return where errors.Is(err, stepwell.ErrCancelled)")
		}
	}
}

// notes notes which variables have the error of an operation.
func (c *code) notes(s ast.Stmt, failing map[*types.Var]string) {
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Rhs) != 1 {
		return
	}
	call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return
	}
	if op := c.operation(call); op != nil {
		if v, _ := c.rootOf(a.Lhs[len(a.Lhs)-1]); v != nil && isError(v.Type()) {
			failing[v] = called(op)
		}
	}
}

// looks reports whether code looks at an error, or leaves.
func (c rounds) looks(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			found = true
		case *ast.CallExpr:
			if f := c.callee(n); f != nil && f.Pkg() != nil && f.Pkg().Path() == "errors" {
				found = true
			}
		}
		return !found
	})
	return found
}
