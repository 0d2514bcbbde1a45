package analysis

// What the bodies of steps may not do, and where the workflow's Context may not go.

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// bodies are those of steps, and what else runs beside workflow code.
type bodies struct{ *code }

// body holds the outermost literal of a step's body to the rules of bodies.
func (c bodies) body(f *function) {
	if f.outer != nil && f.outer.role == body {
		return
	}
	c.keys(f)
	if f.outer == nil || f.outer.role == host {
		return
	}
	c.contexts(f, func(id *ast.Ident, op *types.Func) {
		if op != nil {
			c.report(ruleNested, id, fmt.Sprintf("%s in the body of a step: steps do not nest; ask for it before the step, or behind it", called(op)))
			return
		}
		c.report(ruleContext, id, fmt.Sprintf("the workflow's Context %s in the body of a step: it is refused there; use the body's own context, and what was asked of %s before the step", id.Name, id.Name))
	})
	c.bodyWrites(f)
}

// elsewhere holds what runs beside the workflow's code to it: it may not use the Context.
func (c bodies) elsewhere(f *function) {
	if f.outer != nil && f.outer.role == foreign {
		return
	}
	c.contexts(f, func(id *ast.Ident, _ *types.Func) {
		c.report(ruleContext, id, fmt.Sprintf("the workflow's Context %s on another goroutine: it is refused there, and blocks the run; use stepwell.Go", id.Name))
	})
}

// contexts finds the uses of a Context from around a function, with the operation that gets it.
func (c bodies) contexts(f *function, found func(*ast.Ident, *types.Func)) {
	for cur := range f.cur.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		v, ok := c.info.Uses[id].(*types.Var)
		if !ok || v.IsField() || !isContext(v.Type()) || f.within(v.Pos()) || toldAnywhere(cur) {
			continue
		}
		var op *types.Func
		if cur.ParentEdgeKind() == edge.CallExpr_Args {
			op = c.operation(cur.Parent().Node().(*ast.CallExpr))
		}
		found(id, op)
	}
}

// toldAnywhere reports whether a Context is only asked what it tells on any goroutine: its run, and the logger.
func toldAnywhere(cur inspector.Cursor) bool {
	sel, ok := cur.Parent().Node().(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "RunID" || sel.Sel.Name == "Logger")
}

// bodyWrites reports variables of the workflow that a body changes, and that are read where replay has not run the
// body.
func (c bodies) bodyWrites(f *function) {
	told := map[*types.Var]bool{}
	set := c.setBy(f)
	for v, writes := range c.writes {
		if global(v) || v.Pkg() != c.pass.Pkg || f.within(v.Pos()) || !c.ofWorkflow(v, f.outer) || set[v] || told[v] {
			continue
		}
		for _, w := range writes {
			if !f.within(w.at.Pos()) || !c.readOutside(v, f) {
				continue
			}
			told[v] = true
			c.report(ruleBodyWrites, w.at, fmt.Sprintf("the body of a step changes %s, a variable of the workflow: on replay the body does not run, and the change is lost; return it", v.Name()))
			break
		}
	}
}

// setBy are the variables that the statement sets which has a body: err = stepwell.Do(ctx, "x", …).
func (c bodies) setBy(f *function) map[*types.Var]bool {
	set := map[*types.Var]bool{}
	for up := range f.cur.Enclosing((*ast.AssignStmt)(nil)) {
		for _, to := range up.Node().(*ast.AssignStmt).Lhs {
			if v, _ := c.rootOf(to); v != nil {
				set[v] = true
			}
		}
		break
	}
	return set
}

// readOutside reports whether a variable is read in workflow code behind a body, or in another body, or in a loop
// around it.
func (c bodies) readOutside(v *types.Var, f *function) bool {
	loop := f.cur.Node()
	for up := range f.cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		if !(up.Node().Pos() <= v.Pos() && v.Pos() < up.Node().End()) {
			loop = up.Node()
		}
	}
	for _, use := range c.uses[v] {
		pos := use.Node().Pos()
		if f.within(pos) || pos < loop.Pos() || use.ParentEdgeKind() == edge.AssignStmt_Lhs && use.Node() == use.Parent().Node() {
			continue
		}
		if use.ParentEdgeKind() != edge.AssignStmt_Lhs {
			return true
		}
	}
	return false
}

// keys reports idempotency keys that are made in a body: each attempt has another.
func (c bodies) keys(f *function) {
	for cur := range f.cur.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		sig, ok := typeOf(c.info, call.Fun).(*types.Signature)
		if !ok {
			continue
		}
		for i, arg := range call.Args {
			if i >= sig.Params().Len() {
				break
			}
			name := strings.ToLower(sig.Params().At(i).Name())
			if !strings.HasSuffix(name, "key") && !strings.Contains(name, "idempot") {
				continue
			}
			if what := c.drawn(arg); what != "" {
				c.report(ruleKeys, arg, fmt.Sprintf("a key of %s in the body of a step: the next attempt has another, and does it twice; use stepwell.Info(ctx).IdempotencyKey", what))
			}
		}
	}
}

// drawn is the clock or the randomness that an expression is made of, or "".
func (c bodies) drawn(e ast.Expr) (what string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && what == "" {
			if f := c.callee(call); f != nil {
				if k := known(f); k != nil && (k.rule == ruleTime || k.rule == ruleRandom) {
					what = called(f)
				}
			}
		}
		return what == ""
	})
	return what
}

// keeps reports where workflow code keeps its Context for later, or sends it away.
func (c bodies) keeps(f *function) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.SendStmt:
			if t := c.info.TypeOf(n.Value); t != nil && isContext(t) {
				c.report(ruleContext, n.Value, "the workflow's Context is sent away: it may be used by the workflow's own code alone")
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if len(n.Lhs) != len(n.Rhs) || n.Tok.String() != "=" {
					continue
				}
				if t := c.info.TypeOf(n.Rhs[i]); t == nil || !isContext(t) {
					continue
				}
				if v, _ := c.rootOf(to); v != nil && (global(v) || !c.ofWorkflow(v, f)) {
					c.report(ruleContext, to, fmt.Sprintf("the workflow's Context is kept in %s, which outlives the evaluation: hand it on as a parameter", v.Name()))
				}
			}
		case *ast.GoStmt:
			c.sent(cur, n)
		}
	}
}

// sent reports a Context that a go statement hands to a function.
func (c bodies) sent(cur inspector.Cursor, n *ast.GoStmt) {
	for _, arg := range n.Call.Args {
		if t := c.info.TypeOf(arg); t != nil && isContext(t) {
			c.report(ruleContext, arg, "the workflow's Context on another goroutine: it is refused there, and blocks the run; use stepwell.Go")
		}
	}
}
