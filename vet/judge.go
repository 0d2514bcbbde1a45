package vet

// Each function held against the rules that are about how code is built, rather than what it calls.

import (
	"go/ast"

	"golang.org/x/tools/go/ast/edge"
)

func (c *code) judge() {
	variables{c}.globals()
	programs{c}.reads()
	c.roundTrips()
	definitions{c}.registered()
	records{c}.changed()
	for _, f := range c.order {
		bodies{c}.returns(f)
		if f.decl != nil && isBody(c, f) {
			bodies{c}.keys(f)
		}
		if f.role == workflow || f.role == body {
			loose{c}.durations(f)
		}
		switch {
		case f.role == workflow:
			orders{c}.mapOrder(f)
			endings{c}.errors(f)
			endings{c}.leaves(f)
			rounds{c}.loops(f)
			endings{c}.deferred(f)
			bodies{c}.keeps(f)
			bodies{c}.methodBodies(f)
			bodies{c}.sameInLoops(f)
			captures{c}.loops(f)
			loose{c}.asserted(f)
		case f.role == body && f.lit != nil:
			bodies{c}.body(f)
		case f.role == foreign:
			bodies{c}.elsewhere(f)
		}
	}
}

// isBody reports whether a function that is declared is the body of a step.
func isBody(c *code, f *function) bool {
	if !has(f.sig, isStdContext) {
		return false
	}
	for _, cur := range c.named[declaredBy(c.info, f)] {
		if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
			cur = cur.Parent()
		}
		if cur.ParentEdgeKind() == edge.CallExpr_Args && c.see.library(c.callee(cur.Parent().Node().(*ast.CallExpr))) {
			return true
		}
	}
	return false
}
