package vet

// Generators of chance that all runs of a program draw from: a replay draws what comes next, whatever their seed.

import (
	"go/ast"
	"go/types"
)

// generators are those of the program.
type generators struct{ *code }

// draws notes a call that draws from a generator of the program: one in a variable of a package, in one around a
// workflow's function, or in a field that chance or the clock has seeded.
func (c generators) draws(f *function, call *ast.CallExpr) {
	sel, method := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !method || !generates(c.info.TypeOf(sel.X)) {
		return
	}
	v, _ := c.varOf(sel.X).(*types.Var)
	if v == nil {
		return
	}
	whole := f.whole()
	shared := global(v) || !v.IsField() && whole.role == workflow && !c.ofWorkflow(v, whole)
	for _, e := range c.sets[v.Origin()] {
		shared = shared || v.IsField() && c.src.drawn(e) != ""
	}
	if shared {
		effects(c).touched(f, touch{rule: ruleRandom, at: call, what: v.Name() + "." + sel.Sel.Name + ", of a generator that all runs draw from,", use: "use ctx.Rand()"})
	}
}

// generates reports whether a type is a generator of the standard library.
func generates(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	return ok && (isNamed(p.Elem(), "math/rand", "Rand") || isNamed(p.Elem(), "math/rand/v2", "Rand"))
}
