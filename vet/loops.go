package vet

// Loops: those that a cancelled run does not leave, those whose log grows without end, and those that hold a core.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

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
		case *ast.CallExpr:
			c.leftBehind(f, cur, n)
		case *ast.RangeStmt:
			c.spins(n, n.X, n.Body)
		case *ast.ForStmt:
			if limit := limitOf(n); limit != nil {
				c.spins(n, limit, n.Body)
			}
			label := ""
			if l, ok := cur.Parent().Node().(*ast.LabeledStmt); ok {
				label = l.Label.Name
			}
			if !c.src.isTrue(n.Cond) {
				c.waits(n)
				c.stays(n, label)
				continue
			}
			c.endless(f, n, span{n.For, n.For + 3}, label, n.Body)
		case *ast.LabeledStmt:
			c.jumps(f, cur, n)
		}
	}
	c.recursion(f)
}

// limitOf is what a loop counts up to, or nil.
func limitOf(n *ast.ForStmt) ast.Expr {
	if b, ok := n.Cond.(*ast.BinaryExpr); ok && (b.Op == token.LSS || b.Op == token.LEQ) {
		return b.Y
	}
	return nil
}

// many is the number of rounds of a loop where it is written down and takes seconds, or 0.
func (c source) many(rounds ast.Expr) int64 {
	v := c.info.Types[rounds].Value
	if v == nil || v.Kind() != constant.Int {
		return 0
	}
	if n, ok := constant.Int64Val(v); ok && n >= spinning {
		return n
	}
	return 0
}

// spins reports a loop of a number of rounds that is written down and takes seconds.
func (c rounds) spins(at ast.Node, rounds ast.Expr, block *ast.BlockStmt) {
	if c.src.many(rounds) > 0 && c.see.asks(block) == "" && !c.src.leftEarly(at, block) {
		c.report(ruleSpins, span{at.Pos(), block.Lbrace}, "a long computation in workflow code holds a run slot and a core, at each replay; do it in a step")
	}
}

// leftEarly reports whether a loop may be left before its last round.
func (c source) leftEarly(at ast.Node, block *ast.BlockStmt) bool {
	t := &trial{code: c.code, within: at, errs: map[*types.Var]failing{}}
	return t.loop(block)&(out|leaves) != 0
}

// spinsForEver is what is said of a loop that never ends and asks for nothing.
const spinsForEver = "nothing in this loop waits, or changes what it waits for: it holds a run slot and a core, and no other code of the run goes on; use stepwell.Await, or a step"

// waits reports a loop that waits for what nothing in it changes.
func (c rounds) waits(n *ast.ForStmt) {
	if n.Init != nil || n.Post != nil || c.see.asks(n.Body) != "" || !c.unchanges(n) || c.blocks(n.Body) {
		return
	}
	t := &trial{code: c.code, within: n, errs: map[*types.Var]failing{}}
	if got := t.loop(n.Body); got&(out|leaves) == 0 {
		c.report(ruleSpins, span{n.For, n.Body.Lbrace}, spinsForEver)
	}
}

// unchanges reports whether the condition of a loop stays what it is: by what the loop does, as no other code of the
// run goes on beside it.
func (c rounds) unchanges(n *ast.ForStmt) bool {
	same := true
	ast.Inspect(n.Cond, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.CallExpr:
			id, ok := ast.Unparen(m.Fun).(*ast.Ident)
			same = same && (ok && c.info.Types[m.Fun].IsBuiltin() && id.Name == "len" || c.stands(m))
		case *ast.Ident:
			v, ok := c.info.Uses[m].(*types.Var)
			if !ok {
				break
			}
			if v.IsField() || global(v) {
				same = false
			}
			for _, w := range append(c.writes[v][:len(c.writes[v]):len(c.writes[v])], c.altered[v]...) {
				same = same && !w.byAddr && (w.at.Pos() < n.Pos() || n.End() <= w.at.Pos())
			}
		}
		return same
	})
	if same { // what it calls may change it
		c.see.calls(n.Body, func(call *ast.CallExpr) bool {
			same = same && (c.info.Types[call.Fun].IsBuiltin() || c.info.Types[call.Fun].IsType())
			return same
		})
	}
	return same
}

// stands reports whether a call tells the same for as long as the code asks for nothing: the workflow's time.
func (c rounds) stands(call *ast.CallExpr) bool {
	f := c.callee(call)
	if f == nil || f.Signature().Recv() == nil {
		return false
	}
	recv := f.Signature().Recv().Type()
	return isContext(recv) && f.Name() == "Now" || isNamed(recv, "time", "Time")
}

// blocks reports whether code waits for a channel: that is told of as such.
func (c rounds) blocks(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt, *ast.SendStmt, *ast.GoStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// try tries a loop, where something is taken for granted.
func (c rounds) try(when when, within ast.Node, label string, list *ast.BlockStmt) (*trial, ends) {
	t := &trial{code: c.code, when: when, within: within, label: label, errs: map[*types.Var]failing{}}
	got := t.loop(list)
	return t, got
}

// endless reports a loop without a condition that nothing but an error ends, that a cancelled run does not end, or that
// nothing ends at all.
func (c rounds) endless(f *function, within ast.Node, at span, label string, block *ast.BlockStmt) {
	if c.see.asks(block) == "" {
		if _, got := c.try(whatever, within, label, block); got&(out|leaves) == 0 && !c.blocks(block) && c.leavesNot(block) {
			c.report(ruleSpins, at, spinsForEver)
		}
		return
	}
	if t, got := c.try(cancelled, within, label, block); got&(out|leaves) == 0 && t.failed != "" {
		var place ast.Node = at
		if t.last != nil {
			place = t.last
		}
		c.report(ruleCancelled, place, t.failed+" fails at once when the run is cancelled, and this loop never ends: return where errors.Is(err, stepwell.ErrCancelled)")
		return
	}
	if _, got := c.try(succeeds, within, label, block); got&(out|leaves) == 0 && !c.coroutine(f) && !c.continues(f) {
		c.report(ruleUnbounded, at, "each round of this loop adds to the log, and nothing but an error ends it; continue as new after a number of rounds: stepwell.ContinueAsNew")
	}
}

// stays reports a loop whose condition holds for ever once the run is cancelled.
func (c rounds) stays(n *ast.ForStmt, label string) {
	t := &trial{code: c.code, when: cancelled, within: n, label: label, errs: map[*types.Var]failing{}}
	t.assume(n.Cond, true)
	got := t.list(n.Body.List)
	if got&(breaks|out|leaves) != 0 {
		return
	}
	if got&falls != 0 {
		t.rounds = append(t.rounds, t.errs)
	}
	if len(t.rounds) == 0 {
		return
	}
	t.errs = t.rounds[0]
	for _, other := range t.rounds[1:] {
		t.join(other)
	}
	if n.Post != nil {
		t.stmt(n.Post)
	}
	if t.failed != "" && t.truth(n.Cond) == yes {
		c.report(ruleCancelled, span{n.For, n.Body.Lbrace}, t.failed+" fails at once when the run is cancelled, and this loop never ends: return where errors.Is(err, stepwell.ErrCancelled)")
	}
}

// leavesNot reports whether code calls nothing that may end a goroutine: panics are told of as such.
func (c rounds) leavesNot(n ast.Node) bool {
	quiet := true
	c.see.calls(n, func(call *ast.CallExpr) bool {
		if f := c.callee(call); f != nil && known(f) != nil {
			quiet = false
		}
		return quiet
	})
	return quiet
}

// continues reports whether a function continues as new.
func (c rounds) continues(f *function) (found bool) {
	ast.Inspect(f.whole().block(), func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if g := c.callee(call); g != nil && (said(g) == "ContinueAsNew" && c.see.library(g)) {
				found = true
			}
		}
		return !found
	})
	return found
}

// jumps tries the loop that a goto makes of the statements behind a label.
func (c rounds) jumps(f *function, cur inspector.Cursor, l *ast.LabeledStmt) {
	switch l.Stmt.(type) {
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.SelectStmt, *ast.TypeSwitchStmt:
		return
	}
	var list []ast.Stmt
	switch n := cur.Parent().Node().(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	default:
		return
	}
	from, to := -1, -1
	for i, s := range list {
		if s == ast.Stmt(l) {
			from = i
		}
		if from < 0 {
			continue
		}
		ast.Inspect(s, func(n ast.Node) bool {
			if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO && b.Label.Name == l.Label.Name {
				to = i
			}
			return true
		})
	}
	if to < 0 {
		return
	}
	region := append([]ast.Stmt{l.Stmt}, list[from+1:to+1]...)
	end := &ast.BranchStmt{Tok: token.BREAK, Label: ast.NewIdent(l.Label.Name), TokPos: list[to].End()}
	block := &ast.BlockStmt{Lbrace: l.Pos(), List: append(region, end), Rbrace: list[to].End() - 1}
	c.endless(f, block, span{l.Pos(), l.Colon + 1}, l.Label.Name, block)
}

// recursion reports a function that calls itself in any case, but for an error: as a loop that never ends.
func (c rounds) recursion(f *function) {
	if f.decl == nil {
		return
	}
	own, _ := c.info.Defs[f.decl.Name].(*types.Func)
	cycle := c.cycle(own)
	if !cycle[own] || c.continues(f) {
		return
	}
	asks := false // by itself
	c.see.calls(f.block(), func(call *ast.CallExpr) bool {
		asks = asks || c.see.asked(call) != "" && !cycle[c.callee(call)]
		return !asks
	})
	if !asks {
		return
	}
	all := func(when when) bool {
		for g := range cycle {
			t := &trial{code: c.code, when: when, within: c.declared[g].block(), errs: map[*types.Var]failing{}, cycle: cycle}
			if t.list(c.declared[g].block().List) != calls {
				return false
			}
		}
		return true
	}
	switch {
	case all(cancelled):
		c.report(ruleCancelled, f.decl.Name, own.Name()+" calls itself also where the run is cancelled, when operations fail at once, and never ends: return where errors.Is(err, stepwell.ErrCancelled)")
	case all(succeeds):
		c.report(ruleUnbounded, f.decl.Name, own.Name()+" calls itself, each time adding to the log, and nothing but an error ends it; continue as new after a number of times: stepwell.ContinueAsNew")
	}
}

// cycle are the functions of this package that a function calls and that call it, itself among them; none: it does not
// call itself.
func (c rounds) cycle(own *types.Func) map[*types.Func]bool {
	if c.once.rings == nil {
		c.once.rings = map[*types.Func]map[*types.Func]bool{}
		r := &ringer{rounds: c, number: map[*types.Func]int{}, low: map[*types.Func]int{}}
		for _, f := range c.order {
			if f.decl != nil {
				o, _ := c.info.Defs[f.decl.Name].(*types.Func)
				r.visit(o)
			}
		}
	}
	return c.once.rings[own]
}

// ringer finds the workflow code that calls itself, by Tarjan's algorithm.
type ringer struct {
	rounds
	number, low map[*types.Func]int
	stack       []*types.Func
}

func (r *ringer) visit(o *types.Func) {
	f := r.declared[o]
	if f == nil || f.role != workflow || r.number[o] != 0 {
		return
	}
	n := len(r.number) + 1
	r.number[o], r.low[o] = n, n
	r.stack = append(r.stack, o)
	own := false
	for cur := range r.inside(f) {
		call, ok := cur.Node().(*ast.CallExpr)
		if !ok {
			continue
		}
		g := r.callee(call)
		if g == nil || r.declared[g] == nil {
			continue
		}
		own = own || g == o
		r.visit(g)
		if slices.Contains(r.stack, g) {
			r.low[o] = min(r.low[o], r.low[g])
		}
	}
	if r.low[o] < n {
		return
	}
	from := slices.Index(r.stack, o)
	ring := map[*types.Func]bool{}
	for _, g := range r.stack[from:] {
		ring[g] = true
	}
	r.stack = r.stack[:from]
	if len(ring) == 1 && !own {
		return
	}
	for g := range ring {
		r.once.rings[g] = ring
	}
}

// coroutine reports whether a function is given to Go: it may listen for as long as the code beside it goes on.
func (c rounds) coroutine(f *function) bool {
	if f.lit != nil {
		return !f.runs && f.outer != nil && f.outer.role == workflow
	}
	own, _ := c.info.Defs[f.decl.Name].(*types.Func)
	for _, cur := range c.named[own] {
		if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
			cur = cur.Parent()
		}
		if cur.ParentEdgeKind() == edge.CallExpr_Args {
			if op := c.operation(cur.Parent().Node().(*ast.CallExpr)); op != nil && said(op) == "Go" {
				return true
			}
		}
	}
	return false
}

// aboutError reports whether a condition is that there is an error.
func (c source) aboutError(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isError(c.info.TypeOf(b.X))
}

// notes notes which variables have the error of an operation.
func (c source) notes(s ast.Stmt, failing map[*types.Var]string) {
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Rhs) != 1 {
		return
	}
	call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return
	}
	v, _ := c.rootOf(a.Lhs[len(a.Lhs)-1])
	if v == nil || !isError(v.Type()) {
		return
	}
	if op := c.operation(call); op != nil {
		failing[v] = called(op)
	} else if f := c.callee(call); f != nil && c.see.deed(f).fails {
		failing[v] = c.see.deed(f).op
	}
}
