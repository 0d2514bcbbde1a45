package vet

// What functions are to those who call them, for all rules: which operation they ask for, whose Context they use and
// where they keep it, what they do with the functions they are given, and whether what they return is in the order of a
// map. It travels between the packages of a module as facts.

import (
	"go/ast"
	"go/types"
	"slices"
)

// doings finds what functions do.
type doings struct{ *code }

// deed is what a function does, by the numbers of its parameters; -1: the receiver.
type deed struct {
	op      string          // the operation that it comes to, or ""
	fails   bool            // its error is that of an operation where the run is cancelled
	gone    truth           // what it says of the error of a cancelled run, where it returns a bool
	none    truth           // and of no error
	uses    map[int]bool    // it uses the Context of
	keeps   map[[2]int]bool // it puts the Context of one into what another points at
	runs    map[int]role    // it runs a function in a body, or on a goroutine
	once    map[int]bool    // an idempotency key is made of
	ordered map[int]bool    // it calls a function in the order of a map
	sorts   map[int]bool    // it sorts
	mixed   map[int]string  // results that are in the order of a map: of which
	drawn   string          // the clock or the chance that what it returns is made of
}

// does is the fact of it.
type does struct {
	Module, Op, Drawn, Where           string
	Fails                              bool
	Gone, None                         truth
	Uses, Bodies, Once, Ordered, Sorts []int
	Foreign, Mixed                     []int
	Keeps                              [][2]int
}

// AFact marks a fact.
func (*does) AFact() {}

func (f *does) String() string { return "does " + f.Op }

func newDeed() *deed {
	return &deed{
		uses: map[int]bool{}, keeps: map[[2]int]bool{}, runs: map[int]role{}, once: map[int]bool{},
		ordered: map[int]bool{}, sorts: map[int]bool{}, mixed: map[int]string{},
	}
}

// size grows with each thing that is found.
func (d *deed) size() int {
	n := len(d.uses) + len(d.keeps) + len(d.once) + len(d.ordered) + len(d.sorts) + len(d.mixed) + len(d.drawn) + int(d.gone) + int(d.none)
	if d.op != "" {
		n++
	}
	if d.fails {
		n++
	}
	return n
}

// nothing is what a function does of which nothing is known.
var nothing = newDeed()

// deed is what a function does.
func (c sight) deed(f *types.Func) *deed {
	if d := c.deeds[f]; d != nil {
		return d
	}
	var fact does
	if f == nil || f.Pkg() == nil || f.Pkg() == c.pass.Pkg || ofLibrary(f.Pkg().Path()) ||
		!c.pass.ImportObjectFact(f, &fact) || fact.Module != c.module() {
		return nothing
	}
	d := newDeed()
	d.op, d.fails, d.gone, d.none, d.drawn = fact.Op, fact.Fails, fact.Gone, fact.None, fact.Drawn
	for into, all := range map[*map[int]bool][]int{&d.uses: fact.Uses, &d.once: fact.Once, &d.ordered: fact.Ordered, &d.sorts: fact.Sorts} {
		for _, i := range all {
			(*into)[i] = true
		}
	}
	for _, i := range fact.Bodies {
		d.runs[i] = body
	}
	for _, i := range fact.Foreign {
		d.runs[i] = foreign
	}
	for _, i := range fact.Mixed {
		d.mixed[i] = fact.Where
	}
	for _, k := range fact.Keeps {
		d.keeps[k] = true
	}
	c.deeds[f] = d
	return d
}

// deedOf is what a target does.
func (c sight) deedOf(t target) *deed {
	if t.fn != nil {
		return c.see.deed(t.fn)
	}
	return nothing
}

// opOf is the operation that a target comes to, or "".
func (c sight) opOf(t target) string {
	if t.lit != nil {
		if t.lit.role != workflow {
			return ""
		}
		return t.lit.op
	}
	return c.see.deed(t.fn).op
}

// find finds them, and leaves facts for those who import the package.
func (c doings) find() {
	for o, f := range c.declared {
		d := newDeed()
		f.params(func(i int, p *types.Var) {
			if r := c.runs[p]; r != host {
				d.runs[i] = r
			}
		})
		c.deeds[o] = d
	}
	speaks := c.importsLibrary()
	settle(c.order, func(f *function) bool {
		if f.lit != nil {
			return speaks && c.literal(f)
		}
		o, _ := c.info.Defs[f.decl.Name].(*types.Func)
		d := c.deeds[o]
		before := d.size()
		c.function(f, d, speaks)
		return d.size() != before
	})
	for o, f := range c.declared {
		if d := c.deeds[o]; d.size()+len(d.runs) > 0 && (o.Exported() || f.sig.Recv() != nil) {
			c.pass.ExportObjectFact(o, c.fact(d))
		}
	}
}

func (c doings) fact(d *deed) *does {
	fact := &does{
		Module: c.module(), Op: d.op, Drawn: d.drawn, Fails: d.fails, Gone: d.gone, None: d.none,
		Uses: sortedKeys(d.uses), Once: sortedKeys(d.once), Ordered: sortedKeys(d.ordered), Sorts: sortedKeys(d.sorts),
	}
	for i, r := range d.runs {
		if r == body {
			fact.Bodies = append(fact.Bodies, i)
		} else {
			fact.Foreign = append(fact.Foreign, i)
		}
	}
	for i, where := range d.mixed {
		fact.Mixed = append(fact.Mixed, i)
		fact.Where = where
	}
	for k := range d.keeps {
		fact.Keeps = append(fact.Keeps, k)
	}
	slices.Sort(fact.Bodies)
	slices.Sort(fact.Foreign)
	slices.Sort(fact.Mixed)
	slices.SortFunc(fact.Keeps, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return fact
}

// literal notes the operation that a literal comes to, and whether it uses a Context from around it.
func (c doings) literal(f *function) (more bool) {
	if f.op == "" && f.role == workflow {
		f.op = c.comesTo(f, f.block())
		more = f.op != ""
	}
	if !f.around {
		c.see.contexts(f, func(v *types.Var) bool { return !f.within(v.Pos()) }, func(contextUse) { f.around = true })
		more = more || f.around
	}
	if f.op != "" && !f.fails && lastIsError(f.sig) {
		f.fails = c.errorOf(f) == gone
		more = more || f.fails
	}
	return more
}

// function notes what a function does that is declared.
func (c doings) function(f *function, d *deed, speaks bool) {
	if speaks {
		if d.op == "" {
			d.op = c.comesTo(f, f.block())
		}
		f.params(func(i int, p *types.Var) {
			if !d.uses[i] && c.once.holding.holds(p.Type()) {
				c.see.contexts(f, func(v *types.Var) bool { return v == p }, func(contextUse) { d.uses[i] = true })
			}
		})
		c.kept(f, d)
		c.says(f, d)
	}
	c.keyed(f, d)
	orders(c).deeds(f, d)
	if d.drawn == "" {
		d.drawn = c.returnsDrawn(f)
	}
}

// comesTo is the operation that a function comes to in a part of its code, or "".
func (c doings) comesTo(f *function, n ast.Node) (op string) {
	c.see.callsOf(n, f.role == workflow, func(call *ast.CallExpr) bool {
		_, op = c.see.ask(call)
		return op == ""
	})
	return op
}

// calls goes through the calls of a part of workflow code.
func (c sight) calls(n ast.Node, each func(*ast.CallExpr) bool) { c.see.callsOf(n, true, each) }

// callsOf goes through the calls of a part of the code, and, in workflow code, of the literals that are too.
func (c sight) callsOf(n ast.Node, literals bool, each func(*ast.CallExpr) bool) {
	more := true
	ast.Inspect(n, func(n ast.Node) bool {
		if !more {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			f := c.functions[n]
			return f != nil && f.role == workflow && literals
		case *ast.CallExpr:
			more = each(n)
		}
		return more
	})
}

// asks says what a part of workflow code asks of Stepwell first, or "": operations, and functions that come to one.
func (c sight) asks(n ast.Node) (what string) {
	c.see.calls(n, func(call *ast.CallExpr) bool {
		what, _ = c.see.ask(call)
		return what == ""
	})
	return what
}

// asked is what a call asks for.
func (c sight) asked(call *ast.CallExpr) string {
	name, _ := c.see.ask(call)
	return name
}

// ask is what a call asks for, and the operation that it comes to.
func (c sight) ask(call *ast.CallExpr) (name, op string) {
	if op := c.operation(call); op != nil {
		return called(op), called(op)
	}
	if c.info.Types[call.Fun].IsType() || c.info.Types[call.Fun].IsBuiltin() {
		return "", ""
	}
	f := c.callee(call)
	if f != nil {
		if recv := f.Signature().Recv(); recv != nil && isContext(recv.Type()) {
			if f.Name() == "NewID" || f.Name() == "Rand" {
				return "Context." + f.Name(), "Context." + f.Name()
			}
			return "", ""
		}
		if f.Pkg() == nil || ofLibrary(f.Pkg().Path()) {
			return "", ""
		}
	}
	all := c.see.targets(call.Fun)
	for _, t := range all {
		if op := c.see.opOf(t); op != "" {
			return c.see.callNamed(call, t), op
		}
	}
	if len(all) == 0 { // one that nobody can tell
		if sig, ok := typeOf(c.info, call.Fun).(*types.Signature); ok && has(sig, isContext) {
			if name = c.see.callNamed(call, target{fn: f}); name != "" {
				return name, "an operation"
			}
		}
	}
	for _, arg := range call.Args {
		if t := c.info.TypeOf(arg); t == nil || !isFunc(t) {
			continue
		}
		if _, lit := ast.Unparen(arg).(*ast.FuncLit); lit {
			continue // it is looked at by itself
		}
		for _, t := range c.see.targets(arg) {
			if op := c.see.opOf(t); op != "" && !c.see.library(f) {
				return c.src.text(arg), op
			}
		}
	}
	return "", ""
}

func (c sight) library(f *types.Func) bool {
	return f != nil && f.Pkg() != nil && ofLibrary(f.Pkg().Path())
}

// callNamed is what a call names.
func (c sight) callNamed(call *ast.CallExpr, t target) string {
	if f := c.callee(call); f != nil {
		if f.Pkg() == c.pass.Pkg && f.Signature().Recv() == nil {
			return f.Name()
		}
		return called(f)
	}
	if v, ok := c.varOf(call.Fun).(*types.Var); ok {
		return v.Name()
	}
	if t.lit != nil || t.fn != nil {
		return c.src.text(call.Fun)
	}
	return ""
}

// callName names what a call calls, with its package.
func (c sight) callName(call *ast.CallExpr) string {
	if f := c.callee(call); f != nil {
		return called(f)
	}
	return c.src.text(call.Fun)
}
