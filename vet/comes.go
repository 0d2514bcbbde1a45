package vet

// What functions come to by what they call, and what is told of it. It travels between packages as facts.

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

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

// settle finds what functions of the program come to, and leaves it as facts.
func (c effects) settle() {
	for _, f := range c.order {
		if whole := f.whole(); f != whole {
			whole.calls, whole.through = append(whole.calls, f.calls...), append(whole.through, f.through...)
			f.calls, f.through = nil, nil
		}
		for _, t := range f.touches {
			if _, ok := f.comes[t.rule]; !ok && f.counts() {
				f.comes[t.rule] = reach{what: t.what, where: c.where(t.at.Pos()), use: t.use, module: c.module()}
			}
		}
	}
	settle(c.order, func(f *function) (more bool) {
		if !f.counts() {
			return false
		}
		for _, call := range f.calls {
			for r, from := range c.reached(call) {
				if _, ok := f.comes[r]; !ok && !c.allow.allows(r, c.pass.Fset.Position(call.at.Pos())) {
					f.comes[r], more = from, true
				}
			}
		}
		return more
	})
	for o, f := range c.declared {
		if f.role == host {
			c.leave(o, f.comes)
		}
	}
	for v := range c.values {
		if v.Pkg() == c.pass.Pkg && v.Exported() && (v.IsField() || global(v)) {
			all := map[*rule]reach{}
			for _, t := range c.see.held(v, map[types.Object]bool{}) {
				maps.Copy(all, c.ofTarget(t))
			}
			c.leave(v, all)
		}
	}
}

// counts reports whether what a function does counts for those who call it.
func (f *function) counts() bool { return f.role == host || f.role == later }

// leave leaves what something comes to as a fact.
func (c effects) leave(o types.Object, all map[*rule]reach) {
	if len(all) == 0 {
		return
	}
	fact := new(comesTo)
	for _, r := range rules {
		if from, ok := all[r]; ok {
			fact.All = append(fact.All, reached{r.name, from.what, from.where, from.use, from.module})
		}
	}
	c.pass.ExportObjectFact(o, fact)
}

// ofTarget is what a function that is named somewhere comes to.
func (c effects) ofTarget(t target) map[*rule]reach {
	switch {
	case t.lit != nil:
		if t.lit.counts() {
			return t.lit.comes
		}
	case t.fn.Pkg() != nil && !ofLibrary(t.fn.Pkg().Path()) && !c.pure(t.fn):
		if k := known(t.fn); k != nil {
			return map[*rule]reach{k.rule: {called(t.fn), c.where(t.at.Pos()), k.use, c.module()}}
		}
		return c.reached(call{to: []types.Object{t.fn}})
	}
	return nil
}

// reached is what a call comes to.
func (c effects) reached(call call) map[*rule]reach {
	all := map[*rule]reach{}
	if call.lit != nil {
		maps.Copy(all, call.lit.comes)
	}
	for _, o := range call.to {
		if f, ok := o.(*types.Func); ok && c.declared[f] != nil {
			if f := c.declared[f]; f.role == host {
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

// tell reports what workflow code does by itself, and by what it calls: of each rule once at a place.
func (c effects) tell() {
	type spot struct {
		rule *rule
		at   token.Pos
	}
	for _, f := range c.order {
		if f.role != workflow || f.runs {
			continue
		}
		told := map[spot]bool{}
		for _, t := range f.touches {
			var fixes []analysis.SuggestedFix
			if t.fix != nil {
				fixes = t.fix()
			}
			told[spot{t.rule, t.at.Pos()}] = true
			c.report(t.rule, t.at, t.what+" in workflow code: "+t.rule.why+"; "+t.use, fixes...)
		}
		for _, call := range f.calls {
			all := c.reached(call)
			for _, r := range rules {
				from, ok := all[r]
				if !ok || told[spot{r, call.at.Pos()}] {
					continue
				}
				told[spot{r, call.at.Pos()}] = true
				c.report(r, call.at, fmt.Sprintf("%s comes to %s (%s), in workflow code: %s; %s", call.as, from.what, from.where, r.why, "call it in a step, or give it what it needs"))
			}
		}
	}
}
