package vet

// Keys by which others tell apart what is done: those that each attempt makes anew, and those that all rounds of a loop
// share.

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// isKey reports whether a name is that of a key, by which others tell things apart.
func isKey(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "key") && !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(name, s) }) || isOnce(name)
}

// secrets are in the names of keys of another kind.
var secrets = []string{"private", "public", "secret", "sign", "verif", "crypt", "access", "api", "auth", "master", "session", "shared"}

// isOnce reports whether a name is that of a key for what is to be done once.
func isOnce(name string) bool { return strings.Contains(strings.ToLower(name), "idempot") }

// keyed notes the parameters that idempotency keys are made of.
func (c doings) keyed(f *function, d *deed) {
	f.params(func(i int, p *types.Var) {
		if isOnce(p.Name()) {
			d.once[i] = true
		}
	})
	for cur := range c.inside(f) {
		c.src.keyPlaces(cur, func(e ast.Expr, name string, once bool) {
			if !once {
				return
			}
			f.params(func(i int, p *types.Var) {
				if !d.once[i] && c.src.mentions(e, p) {
					d.once[i] = true
				}
			})
		})
	}
}

// keyPlaces finds what is used as a key: arguments and fields of such a name, and what a function makes one of.
func (c source) keyPlaces(cur inspector.Cursor, found func(e ast.Expr, name string, once bool)) {
	switch n := cur.Node().(type) {
	case *ast.CallExpr:
		sig, ok := typeOf(c.info, n.Fun).(*types.Signature)
		if !ok || c.see.library(c.callee(n)) {
			return
		}
		var d *deed
		if f := c.callee(n); f != nil {
			d = c.see.deed(f)
		} else {
			d = nothing
		}
		for i, arg := range n.Args {
			p := paramOf(sig, i)
			if p == nil {
				continue
			}
			if isKey(p.Name()) || d.once[i] {
				found(arg, p.Name(), isOnce(p.Name()) || d.once[i])
			}
		}
		if f := c.callee(n); f != nil && called(f) == "Header.Set" && len(n.Args) == 2 && isOnce(c.src.constant(n.Args[0])) {
			found(n.Args[1], c.src.constant(n.Args[0]), true)
		}
	case *ast.KeyValueExpr:
		if id, ok := n.Key.(*ast.Ident); ok && cur.ParentEdgeKind() == edge.CompositeLit_Elts {
			if v, ok := c.info.Uses[id].(*types.Var); ok && v.IsField() && isKey(id.Name) {
				found(n.Value, id.Name, isOnce(id.Name))
			}
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if sel, ok := to.(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) && isOnce(sel.Sel.Name) {
				found(n.Rhs[i], sel.Sel.Name, true)
			}
		}
	}
}

// mentions reports whether an expression is made of a variable, or of one that is.
func (c source) mentions(e ast.Expr, v *types.Var) bool {
	found := false
	seen := map[*types.Var]bool{}
	var look func(e ast.Expr, depth int)
	look = func(e ast.Expr, depth int) {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !found {
				o, _ := c.info.Uses[id].(*types.Var)
				found = o == v
				if o != nil && !found && depth < 4 && !seen[o] {
					seen[o] = true
					for _, from := range c.sets[o] {
						look(from, depth+1)
					}
				}
			}
			return !found
		})
	}
	look(e, 0)
	return found
}

// drawn is the clock or the randomness that an expression is made of, or "".
func (c source) drawn(e ast.Expr) string {
	return c.src.drawnBy(e, func(_ *types.Func, k *entry) bool { return k.rule == ruleTime || k.rule == ruleRandom })
}

// drawnBy is the function of the table that an expression is made of, of those that are meant, or "".
func (c source) drawnBy(e ast.Expr, meant func(*types.Func, *entry) bool) (what string) {
	seen := map[*types.Var]bool{}
	var look func(e ast.Expr, depth int)
	look = func(e ast.Expr, depth int) {
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				for _, t := range c.see.targets(n.Fun) {
					if t.fn == nil || what != "" {
						continue
					}
					if k := known(t.fn); k != nil && meant(t.fn, k) {
						what = called(t.fn)
					} else if c.see.deed(t.fn).drawn != "" {
						what = called(t.fn)
					}
				}
			case *ast.Ident:
				v, _ := c.info.Uses[n].(*types.Var)
				if v != nil && !v.IsField() && !seen[v] && depth < 4 {
					seen[v] = true
					for _, from := range c.sets[v] {
						look(from, depth+1)
					}
				}
			}
			return what == ""
		})
	}
	look(e, 0)
	return what
}

// returnsDrawn is the clock or the randomness that what a function returns is made of, or "".
func (c doings) returnsDrawn(f *function) (what string) {
	for i := range f.sig.Results().Len() {
		if isError(f.sig.Results().At(i).Type()) {
			continue
		}
		for cur := range c.inside(f) {
			if ret, ok := cur.Node().(*ast.ReturnStmt); ok && len(ret.Results) == f.sig.Results().Len() && what == "" {
				what = c.src.drawn(ret.Results[i])
			}
		}
	}
	return what
}

// keys reports idempotency keys that are made in a body: each attempt has another; and those that all rounds of a loop
// around the body share.
func (c bodies) keys(f *function) {
	loop, shared := c.src.loopAround(f.cur)
	for cur := range f.cur.Preorder((*ast.CallExpr)(nil), (*ast.KeyValueExpr)(nil), (*ast.AssignStmt)(nil)) {
		c.src.keyPlaces(cur, func(e ast.Expr, _ string, once bool) {
			if what := c.src.drawn(e); what != "" {
				c.report(ruleKeys, e, fmt.Sprintf("a key of %s in the body of a step: the next attempt has another, and does it twice; use a key of the order, or stepwell.Info(ctx).IdempotencyKey", what))
			} else if once && shared && c.src.same(e, loop) {
				c.report(ruleKeys, e, "each round of the loop has the same key: what the first has done is not done again; use stepwell.Info(ctx).IdempotencyKey, or a key of what the round is about")
			}
		})
	}
}

// loopAround is the loop that code stands in, within its function and those that it is the body of; false: there is
// none, or it is always left in its first round.
func (c source) loopAround(cur inspector.Cursor) (ast.Node, bool) {
	f := c.around(cur)
	if f == nil {
		return nil, false
	}
	for up := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		if up.Node() == cur.Node() || !f.within(up.Node().Pos()) {
			continue
		}
		var block *ast.BlockStmt
		switch n := up.Node().(type) {
		case *ast.ForStmt:
			block = n.Body
		case *ast.RangeStmt:
			block = n.Body
		}
		if n := len(block.List); n > 0 {
			switch last := block.List[n-1].(type) {
			case *ast.ReturnStmt:
				return nil, false
			case *ast.BranchStmt:
				if last.Tok.String() == "break" {
					return nil, false
				}
			}
		}
		return up.Node(), true
	}
	return nil, false
}

// same reports whether an expression is the same in all rounds of a loop: nothing of it is declared or changed there.
func (c source) same(e ast.Expr, loop ast.Node) bool {
	same := true
	in := func(n ast.Node) bool { return loop.Pos() <= n.Pos() && n.Pos() < loop.End() }
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f := c.callee(n); f == nil || f.Pkg() == nil || f.Pkg().Path() != "fmt" && f.Pkg().Path() != "strings" {
				same = same && c.info.Types[n.Fun].IsType()
			}
		case *ast.Ident:
			v, ok := c.info.Uses[n].(*types.Var)
			if !ok || v.IsField() {
				break
			}
			if loop.Pos() <= v.Pos() && v.Pos() < loop.End() {
				sets := c.sets[v] // one that is made of what is the same, and is not counted up, is the same
				if len(sets) != 1 || len(c.writes[v])+len(c.altered[v]) > 0 || !c.src.same(sets[0], loop) {
					same = false
				}
				break
			}
			for _, w := range slices.Concat(c.writes[v], c.altered[v]) {
				if in(w.at) {
					same = false
				}
			}
		case *ast.FuncLit:
			same = false
		}
		return same
	})
	return same
}

// told are what Stepwell tells runs, hooks and deliveries apart by.
var told = map[string]string{"RunID": "ID", "Key": "key", "Token": "token", "DeliveryID": "delivery ID"}

// sameInLoops reports operations in loops that all rounds ask for under one ID, key or token.
func (c bodies) sameInLoops(f *function) {
	for cur := range c.inside(f) {
		call, ok := cur.Node().(*ast.CallExpr)
		if !ok {
			continue
		}
		g := c.callee(call)
		if g == nil || g.Pkg() == nil || g.Pkg().Path() != module || len(call.Args) == 0 {
			continue
		}
		loop, in := c.src.loopAround(cur)
		if !in {
			continue
		}
		switch what := told[g.Name()]; {
		case what != "" && g.Signature().Recv() == nil && c.src.same(call.Args[0], loop):
			c.report(ruleKeys, call, fmt.Sprintf("each round of the loop has the same %s, by which they are told apart: from the second on it is taken; make it of what the round is about", what))
		}
	}
}
