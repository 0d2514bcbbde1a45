package vet

// What the bodies of steps may not do, and where the workflow's Context may not go.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
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
	c.see.contexts(f, outside(f), func(u contextUse) { c.nested(u) })
	c.bodyWrites(f)
}

// outside are the variables from around a function.
func outside(f *function) func(*types.Var) bool {
	return func(v *types.Var) bool { return !f.within(v.Pos()) }
}

// nested reports a use of the workflow's Context in the body of a step.
func (c bodies) nested(u contextUse) {
	at := u.cur.Node()
	switch {
	case u.op != "" && u.by == "":
		c.report(ruleNested, at, fmt.Sprintf("%s in the body of a step: steps do not nest; ask for it before the step, or behind it", u.op))
	case u.op != "":
		c.report(ruleNested, at, fmt.Sprintf("%s comes to %s in the body of a step: steps do not nest; ask for it before the step, or behind it", u.by, u.op))
	case u.by != "":
		c.report(ruleContext, at, fmt.Sprintf("%s uses the workflow's Context in the body of a step: it is refused there; use the body's own context, and what was asked of the Context before the step", u.by))
	default:
		c.report(ruleContext, at, fmt.Sprintf("the workflow's Context %s in the body of a step: it is refused there; use the body's own context, and what was asked of %s before the step", u.what, u.what))
	}
}

// elsewhere holds what runs beside the workflow's code to it: it may not use the Context.
func (c bodies) elsewhere(f *function) {
	if f.outer != nil && f.outer.role == foreign {
		return
	}
	c.see.contexts(f, outside(f), func(u contextUse) {
		if u.what == "" {
			c.report(ruleContext, u.cur.Node(), u.by+" uses the workflow's Context on another goroutine: it is refused there, and blocks the run; use stepwell.Go")
			return
		}
		c.report(ruleContext, u.cur.Node(), fmt.Sprintf("the workflow's Context %s on another goroutine: it is refused there, and blocks the run; use stepwell.Go", u.what))
	})
}

// toldAnywhere reports whether a method of a Context tells the same on any goroutine: its run, and the logger.
func toldAnywhere(method string) bool { return method == "RunID" || method == "Logger" }

// tellsAnywhere reports whether a Context is only asked that.
func tellsAnywhere(cur inspector.Cursor) bool {
	sel, ok := cur.Parent().Node().(*ast.SelectorExpr)
	return ok && toldAnywhere(sel.Sel.Name)
}

// bodyWrites reports variables of the workflow that a body changes, and that are read where replay has not run the
// body: by itself, through a pointer, or by a function that it hands them to.
func (c bodies) bodyWrites(f *function) {
	told := map[*types.Var]bool{}
	set := c.setBy(f)
	for v, writes := range c.writes {
		for _, w := range writes {
			if f.within(w.at.Pos()) && !set[v] && !told[v] && !c.handedToOurs(w) && c.lost(v, f, w, f.cur) {
				told[v] = true
				c.report(ruleBodyWrites, w.at, c.change(v, ""))
			}
		}
	}
	for v, writes := range c.altered {
		for _, w := range writes {
			if f.within(w.at.Pos()) && !told[v] && !c.ofProgram(v, f.outer) && c.lost(v, f, w, f.cur) {
				told[v] = true
				c.report(ruleBodyWrites, w.at, c.change(v, c.alterer(w)))
			}
		}
	}
}

// handedToOurs reports whether the address of a variable is handed to a function of this module: it is known what that
// changes.
func (c bodies) handedToOurs(w write) bool {
	call, ok := w.cur.Node().(*ast.CallExpr)
	if !ok || !w.byAddr {
		return false
	}
	f := c.callee(call)
	if f == nil || f.Pkg() == nil || c.see.library(f) {
		return false
	}
	return f.Pkg() == c.pass.Pkg || c.module() != "" && strings.HasPrefix(f.Pkg().Path(), c.module()+"/")
}

func (c bodies) change(v *types.Var, by string) string {
	if by != "" {
		by = " with " + by
	}
	return fmt.Sprintf("the body of a step changes %s%s, a variable of the workflow: on replay the body does not run, and the change is lost; return it", v.Name(), by)
}

// alterer is what changes a variable that it is handed.
func (c bodies) alterer(w write) string {
	switch n := w.cur.Node().(type) {
	case *ast.CallExpr:
		return c.see.callName(n)
	case *ast.SelectorExpr:
		if o, ok := c.info.Uses[n.Sel].(*types.Func); ok {
			return called(o)
		}
		return n.Sel.Name
	case *ast.Ident:
		return n.Name
	}
	return ""
}

// lost reports whether a change of a variable in a body is read where replay has not made it.
func (c bodies) lost(v *types.Var, f *function, w write, body inspector.Cursor) bool {
	if global(v) || v.Pkg() != c.pass.Pkg || within(body, v.Pos()) || !f.sees(v) || !c.ofWorkflow(v, f.outer) {
		return false
	}
	if c.readOutside(v, body) {
		return true
	}
	whole := c.alias[v]
	return whole != nil && whole != v && alterations(c).through(w) && !global(whole) && !within(body, whole.Pos()) && c.ofWorkflow(whole, f.outer) && c.readOutside(whole, body)
}

// sees reports whether a variable is declared in a function around this one.
func (f *function) sees(v *types.Var) bool {
	for up := f.outer; up != nil; up = up.outer {
		if up.within(v.Pos()) {
			return true
		}
	}
	return false
}

func within(cur inspector.Cursor, pos token.Pos) bool {
	return cur.Node().Pos() <= pos && pos < cur.Node().End()
}

// ofProgram reports whether a variable is a method's receiver, or a parameter that points at more than data: it is of
// the program, which keeps in it what it likes.
func (c bodies) ofProgram(v *types.Var, f *function) bool {
	for ; f != nil; f = f.outer {
		if f.sig.Recv() == v {
			return true
		}
		for p := range f.sig.Params().Variables() {
			if ptr, ok := v.Type().Underlying().(*types.Pointer); p == v && ok {
				l := &losses{of: v.Pkg(), seen: map[types.Type]bool{}}
				return l.in(ptr.Elem(), "", true) != ""
			}
		}
	}
	return false
}

// methodBodies reports bodies that are methods of a variable of the workflow, or that a function makes, and change it;
// and those that use the Context that it has.
func (c bodies) methodBodies(f *function) {
	for v, writes := range c.altered {
		for _, w := range writes {
			at, ok := w.cur.Node().(ast.Expr)
			if !ok || !f.within(at.Pos()) || c.around(w.cur) != f || c.ofProgram(v, f) || global(v) || !f.within(v.Pos()) && !f.sees(v) || !c.ofWorkflow(v, f) {
				continue
			}
			if c.goesToBody(w.cur) && c.readOutside(v, w.cur) {
				c.report(ruleBodyWrites, at, c.change(v, c.alterer(w)))
			}
		}
	}
	for cur := range c.inside(f) {
		sel, ok := cur.Node().(*ast.SelectorExpr)
		if !ok || !c.goesToBody(cur) {
			continue
		}
		if o, ok := c.info.Uses[sel.Sel].(*types.Func); ok && c.see.deed(o.Origin()).uses[-1] {
			c.nested(contextUse{cur: cur, by: called(o), op: c.see.deed(o.Origin()).op})
		}
	}
}

// goesToBody reports whether an expression is a function that is the body of a step.
func (c bodies) goesToBody(cur inspector.Cursor) bool {
	sig, ok := typeOf(c.info, cur.Node().(ast.Expr)).(*types.Signature)
	return ok && cur.ParentEdgeKind() != edge.CallExpr_Fun && finder(c).goesTo(cur, sig, 0) == body
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
func (c bodies) readOutside(v *types.Var, body inspector.Cursor) bool {
	loop := body.Node()
	for up := range body.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		if !(up.Node().Pos() <= v.Pos() && v.Pos() < up.Node().End()) {
			loop = up.Node()
		}
	}
	for _, use := range c.uses[v] {
		pos := use.Node().Pos()
		if within(body, pos) || pos < loop.Pos() || use.ParentEdgeKind() == edge.AssignStmt_Lhs && use.Node() == use.Parent().Node() {
			continue
		}
		if use.ParentEdgeKind() != edge.AssignStmt_Lhs {
			return true
		}
	}
	return false
}

// keeps reports where workflow code keeps its Context for later, or sends it away.
func (c bodies) keeps(f *function) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.SendStmt:
			if c.see.carrier(n.Value) != nil {
				c.report(ruleContext, n.Value, "the workflow's Context is sent away: it may be used by the workflow's own code alone")
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && n.Tok == token.ASSIGN {
					c.outlives(f, n.Rhs[i], to, to, "")
				}
			}
		case *ast.CallExpr:
			c.see.handsOver(n, func(what, into ast.Expr, _ target) { c.outlives(f, what, into, n, c.see.callName(n)) })
			c.stores(f, n)
		case *ast.GoStmt:
			c.sent(n)
		}
	}
}

// outlives reports a Context that is put where the evaluation's end does not take it away.
func (c bodies) outlives(f *function, what, into ast.Expr, at ast.Node, by string) {
	v := c.rooted(into)
	if v == nil || !global(v) && c.ofWorkflow(v, f) && !c.ofEntry(v, f) || global(v) && c.onlyRuns(what) {
		return
	}
	if of := c.see.carrier(what); of == nil || of == v {
		return
	}
	if by != "" {
		c.report(ruleContext, at, fmt.Sprintf("%s keeps the workflow's Context in %s, which outlives the evaluation: hand it on as a parameter", by, v.Name()))
		return
	}
	c.report(ruleContext, at, fmt.Sprintf("the workflow's Context is kept in %s, which outlives the evaluation: hand it on as a parameter", v.Name()))
}

// onlyRuns reports whether a function has a Context of its own, by its parameters.
func (c bodies) onlyRuns(e ast.Expr) bool {
	sig, ok := typeOf(c.info, e).(*types.Signature)
	return ok && has(sig, isContext)
}

// ofEntry reports whether a variable is what a workflow's function is a method of: it is the program's.
func (c bodies) ofEntry(v *types.Var, f *function) bool {
	return c.entries[f] != nil && f.sig.Recv() == v && sharing(v.Type())
}

// stores reports a Context that goes into a variable of the program by a method of packages sync and sync/atomic.
func (c bodies) stores(f *function, call *ast.CallExpr) {
	g := c.callee(call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || g == nil || g.Pkg() == nil || g.Pkg().Path() != "sync" && g.Pkg().Path() != "sync/atomic" {
		return
	}
	switch g.Name() {
	case "Store", "Swap", "CompareAndSwap", "LoadOrStore", "Put":
		for _, arg := range call.Args {
			c.outlives(f, arg, sel.X, call, "")
		}
	}
}

// sent reports a Context that a go statement hands to a function.
func (c bodies) sent(n *ast.GoStmt) {
	args := n.Call.Args
	if sel, ok := ast.Unparen(n.Call.Fun).(*ast.SelectorExpr); ok {
		if o, ok := c.info.Uses[sel.Sel].(*types.Func); ok && c.see.deed(o.Origin()).uses[-1] {
			args = append(args[:len(args):len(args)], sel.X)
		}
	}
	for _, arg := range args {
		if c.see.carrier(arg) != nil {
			c.report(ruleContext, arg, "the workflow's Context on another goroutine: it is refused there, and blocks the run; use stepwell.Go")
		}
	}
}

// returns reports functions that give the workflow's Context to those who were not given one.
func (c bodies) returns(f *function) {
	if f.decl == nil || f.role == workflow {
		return
	}
	for v := range f.sig.Results().Variables() {
		if isContext(v.Type()) {
			c.report(ruleContext, f.decl.Name, fmt.Sprintf("%s returns the workflow's Context, which it has from somewhere that outlives the evaluation: hand it on as a parameter", f.decl.Name.Name))
		}
	}
}

// holdings are types that have a Context in them, or have none.
type holdings map[types.Type]bool

// holds reports whether values of a type have a Context.
func (all holdings) holds(t types.Type) bool {
	has, known := all[t]
	if known {
		return has
	}
	seen := map[types.Type]bool{}
	has = holds(t, seen)
	if !has {
		maps.Copy(all, seen) // nor has anything in it
	}
	all[t] = has
	return has
}

// holds looks through a type once; those that it has seen have none.
func holds(t types.Type, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if isContext(t) {
		return true
	}
	if _, known := seen[t]; known {
		return false
	}
	seen[t] = false
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holds(u.Elem(), seen)
	case *types.Slice:
		return holds(u.Elem(), seen)
	case *types.Map:
		return holds(u.Elem(), seen)
	case *types.Struct:
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && (ofLibrary(n.Obj().Pkg().Path()) || n.TypeArgs().Len() > 0 && len(seen) > manyTypes) {
			return false
		}
		for v := range u.Fields() {
			if holds(v.Type(), seen) {
				return true
			}
		}
	}
	return false
}

// manyTypes are more than the types in one that are looked through where they are made of others: generic types may
// have another in them for each depth.
const manyTypes = 10_000
