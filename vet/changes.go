package vet

// Which variables are changed, and where: what globals and captured variables are to workflow code.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// variables are those that outlive a function.
type variables struct{ *code }

// write is a place where a variable, or a part of what it holds, is changed.
type write struct {
	cur    inspector.Cursor
	at     ast.Node
	byAddr bool   // its address is given away
	field  string // of which only this field is changed, or ""
}

// changes is the fact of a global variable that code changes after the start of the program, or that each start sets to
// something else: how, for people.
type changes struct{ How string }

// AFact marks a fact.
func (*changes) AFact() {}

func (f *changes) String() string { return "changes" }

func (c finder) wrote(cur inspector.Cursor, e ast.Expr, byAddr bool) {
	if e == nil {
		return
	}
	if v, id := c.rootOf(e); v != nil {
		c.writes[v] = append(c.writes[v], write{cur, e, byAddr, c.fieldOf(e, id)})
	}
}

// fieldOf is the field of a variable that an expression is of: Lines, of o.Lines[0]; or "".
func (c finder) fieldOf(e ast.Expr, root *ast.Ident) (field string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := ast.Unparen(sel.X).(*ast.Ident); ok && x == root {
				field = sel.Sel.Name
			}
		}
		return true
	})
	return field
}

// touches reports whether what is read of a variable is what a write changes.
func (w write) touches(v *types.Var, read string) bool {
	if w.field == "" || w.field == read {
		return true
	}
	_, pointer := v.Type().Underlying().(*types.Pointer)
	return read == "" && !pointer
}

// changing are functions that change what their first argument holds.
var changing = map[string]bool{
	"slices.Sort": true, "slices.SortFunc": true, "slices.SortStableFunc": true, "slices.Reverse": true,
	"sort.Slice": true, "sort.SliceStable": true, "sort.Sort": true, "sort.Stable": true, "sort.Strings": true, "sort.Ints": true, "sort.Float64s": true,
	"maps.Copy": true, "maps.DeleteFunc": true, "maps.Insert": true, "rand.Shuffle": true,
}

// changing notes what a call changes: its first argument, what it has the address of, or what it is a method of.
func (c finder) changing(cur inspector.Cursor, call *ast.CallExpr) {
	for _, arg := range call.Args {
		if u, ok := ast.Unparen(arg).(*ast.UnaryExpr); ok && u.Op == token.AND {
			c.wrote(cur, u.X, true)
		}
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && c.info.Types[call.Fun].IsBuiltin() && len(call.Args) > 0 {
		switch id.Name {
		case "delete", "clear", "copy":
			c.wrote(cur, call.Args[0], false)
		}
		return
	}
	f := c.callee(call)
	if f == nil || f.Pkg() == nil {
		return
	}
	if changing[called(f)] && len(call.Args) > 0 {
		c.wrote(cur, call.Args[0], false)
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || f.Signature().Recv() == nil {
		return
	}
	switch f.Pkg().Path() {
	case "sync/atomic":
		if f.Name() != "Load" {
			c.wrote(cur, sel.X, false)
		}
	case "strings", "bytes":
		if strings.HasPrefix(f.Name(), "Write") || f.Name() == "Reset" {
			c.wrote(cur, sel.X, false)
		}
	case "sync":
		if n := called(f); strings.HasPrefix(n, "Map.") && n != "Map.Load" && n != "Map.Range" {
			c.wrote(cur, sel.X, false)
		}
	}
}

// global reports whether a variable is one of a package.
func global(v *types.Var) bool {
	return v.Pkg() != nil && !v.IsField() && v.Parent() == v.Pkg().Scope()
}

// starts are functions in which globals get their values, before anything runs.
func starts(f *function) bool {
	if f == nil {
		return true
	}
	return f.decl != nil && f.decl.Recv == nil && (f.decl.Name.Name == "init" || f.decl.Name.Name == "main" || f.decl.Name.Name == "TestMain")
}

// atStart reports whether a function is called by those in which a program starts, and by nothing else, or once.
func (c variables) atStart(f *function, depth int) bool {
	is, ok := c.starting[f]
	if !ok {
		is = c.atStartOnce(f, depth)
		c.starting[f] = is
	}
	return is
}

func (c variables) atStartOnce(f *function, depth int) bool {
	if f.lit != nil {
		if f.cur.ParentEdgeKind() == edge.CallExpr_Args {
			if g := c.callee(f.cur.Parent().Node().(*ast.CallExpr)); g != nil && called(g) == "Once.Do" {
				return true
			}
		}
		return f.runs && f.outer != nil && (starts(f.outer) || c.atStart(f.outer, depth))
	}
	if depth > 4 || f.decl.Recv != nil || f.decl.Name.IsExported() && c.pass.Pkg.Name() != "main" {
		return false
	}
	calls := 0
	own, _ := c.info.Defs[f.decl.Name].(*types.Func)
	for _, cur := range c.named[own] {
		in := c.around(cur)
		if cur.ParentEdgeKind() != edge.CallExpr_Fun || in == nil || !starts(in) && !c.atStart(in, depth+1) {
			return false
		}
		calls++
	}
	return calls > 0
}

// changed says how a global is changed after the start, or differs from start to start; or how a variable of the host
// is changed once the function that reads it is there. What is read is a field of it, or all.
func (c variables) changed(v *types.Var, read string, reader *function) (how string, ok bool) {
	if v.Pkg() != c.pass.Pkg {
		var fact changes
		if c.pass.ImportObjectFact(v, &fact) {
			return fact.How, true
		}
	}
	elsewhere := func(w write) (string, bool) {
		return fmt.Sprintf("which is changed elsewhere (%s)", c.where(w.at.Pos())), true
	}
	for _, w := range c.changesOf(v) {
		in := c.around(w.cur)
		if call, ok := w.cur.Node().(*ast.CallExpr); ok && global(v) && pointedAt(v.Type()) != nil {
			if f := c.declared[c.callee(call)]; f != nil && f.role == workflow && programs(c).ofMany(v.Type()) {
				continue // what it reads of it is told there
			}
		}
		switch {
		case w.byAddr && !c.fills(w) || !w.touches(v, read):
		case global(v) && !starts(in) && !c.atStart(in, 0):
			return elsewhere(w)
		case !global(v) && in != nil && (in.lit != nil && in.whole() != c.home(v) || reader != nil && w.at.Pos() > reader.cur.Node().End()):
			return elsewhere(w)
		}
	}
	return c.drawn(v)
}

// drawn says what of the clock, of chance or of the machine a global is set to as the program starts.
func (c variables) drawn(v *types.Var) (how string, ok bool) {
	if !global(v) || !c.isData(v) {
		return "", false
	}
	for _, e := range c.sets[v] {
		if what := c.src.drawnBy(e, differs); what != "" {
			return fmt.Sprintf("which each process sets to another %s (%s)", what, c.where(e.Pos())), true
		}
	}
	return "", false
}

// differs reports whether a function says something else in each process, or on each machine. What is set around a
// program, as its environment variables, is as much a part of its release as its code.
func differs(o *types.Func, k *entry) bool {
	return k.rule == ruleTime || k.rule == ruleRandom || k.rule == ruleEnvironment && (o.Pkg().Path() == "runtime" || deployed[o.Name()])
}

// deployed are functions of package os that tell of the process or of the machine.
var deployed = map[string]bool{"Hostname": true, "Getpid": true, "Getppid": true}

// changesOf are the places where a variable is changed: by itself, by a function that gets a pointer to it, or through
// another variable that points to it.
func (c variables) changesOf(v *types.Var) (all []write) {
	all = append(all, c.writes[v]...)
	if !global(v) {
		return all
	}
	all = append(all, c.altered[v]...)
	for other, whole := range c.alias {
		if whole != v {
			continue
		}
		for _, w := range c.writes[other] {
			if !w.byAddr && alterations(c).through(w) {
				all = append(all, w)
			}
		}
		all = append(all, c.altered[other]...)
	}
	return all
}

// filling are functions that change what they get the address of, by the beginnings of their names.
var filling = []string{"Unmarshal", "Decode", "Scan", "Sscan", "Fscan", "Store", "Add", "Swap", "CompareAndSwap"}

// fills reports whether a function that is handed the address of a variable changes it, as far as its name tells.
func (c variables) fills(w write) bool {
	call, ok := w.cur.Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	f := c.callee(call)
	return f != nil && f.Pkg() != nil && f.Pkg() != c.pass.Pkg && slices.ContainsFunc(filling, func(name string) bool { return strings.HasPrefix(f.Name(), name) })
}

// home is the function that a local variable is of.
func (c variables) home(v *types.Var) *function {
	for _, f := range c.order { // outer ones first
		if f.lit == nil && f.within(v.Pos()) {
			home := f
			for _, g := range c.order {
				if g.lit != nil && g.within(v.Pos()) && home.within(g.lit.Pos()) {
					home = g
				}
			}
			return home.whole()
		}
	}
	return nil
}

// leave leaves facts of the globals that change.
func (c variables) leave() {
	scope := c.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		if v, ok := scope.Lookup(name).(*types.Var); ok && v.Exported() {
			if how, ok := c.changed(v, "", nil); ok {
				c.pass.ExportObjectFact(v, &changes{how})
			}
		}
	}
}

// globals reports what workflow code reads of what others change.
func (c variables) globals() {
	told := map[*function]map[*types.Var]bool{}
	for cur := range c.root.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		v, ok := c.info.Uses[id].(*types.Var)
		if !ok || v.IsField() || v.Pkg() == nil || ofOurs(v.Type()) {
			continue
		}
		f := c.around(cur)
		if f == nil || f.role != workflow {
			continue
		}
		f = f.whole()
		if told[f][v] || !global(v) && c.ofWorkflow(v, f) || c.onlyWrites(cur) || c.givesMethod(cur) {
			continue
		}
		read := ""
		if cur.ParentEdgeKind() == edge.SelectorExpr_X {
			read = cur.Parent().Node().(*ast.SelectorExpr).Sel.Name
		}
		how, ok := c.changed(v, read, f)
		if !ok {
			continue
		}
		if told[f] == nil {
			told[f] = map[*types.Var]bool{}
		}
		told[f][v] = true
		c.report(ruleGlobals, id, fmt.Sprintf("workflow code reads %s, %s: it may hold something else when the run goes on; read it in a step, whose result is recorded", v.Name(), how))
	}
}

// givesMethod reports whether code hands a method of what a variable points to, or of its address, to a step or an undo
// as its function: it is the step that reads it.
func (c variables) givesMethod(cur inspector.Cursor) bool {
	if cur.ParentEdgeKind() != edge.SelectorExpr_X {
		return false
	}
	up := cur.Parent()
	sel := c.info.Selections[up.Node().(*ast.SelectorExpr)]
	if sel == nil || sel.Kind() != types.MethodVal || pointedAt(sel.Obj().(*types.Func).Signature().Recv().Type()) == nil || up.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	f := c.callee(up.Parent().Node().(*ast.CallExpr))
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != module {
		return false
	}
	switch f.Name() {
	case "Call", "Exec", "Undo", "AddUndo":
		return true
	}
	return false
}

// ofWorkflow reports whether a variable is declared in workflow code.
func (c *code) ofWorkflow(v *types.Var, f *function) bool {
	for ; f != nil; f = f.outer {
		if f.within(v.Pos()) {
			return f.role != host
		}
	}
	return true // of the function that is all
}

// onlyWrites reports whether a use of a variable writes it and nothing else: counting is nobody's business.
func (c variables) onlyWrites(cur inspector.Cursor) bool {
	for {
		switch cur.ParentEdgeKind() {
		case edge.SelectorExpr_X, edge.IndexExpr_X, edge.StarExpr_X, edge.ParenExpr_X:
			cur = cur.Parent()
			continue
		case edge.AssignStmt_Lhs, edge.IncDecStmt_X:
			return true
		case edge.UnaryExpr_X:
			return cur.Parent().Node().(*ast.UnaryExpr).Op == token.AND && !c.handsOn(cur.Parent()) && !c.readThrough(cur.Parent())
		case edge.CallExpr_Fun: // counter.Add(1)
			return cur.Parent().ParentEdgeKind() == edge.ExprStmt_X
		case edge.CallExpr_Args: // x = append(x, …), delete(x, …)
			call := cur.Parent()
			if !c.info.Types[call.Node().(*ast.CallExpr).Fun].IsBuiltin() {
				return false
			}
			if call.ParentEdgeKind() == edge.ExprStmt_X {
				return true
			}
			if assign, ok := call.Parent().Node().(*ast.AssignStmt); ok && len(assign.Lhs) == 1 {
				a, _ := c.rootOf(assign.Lhs[0])
				b, _ := c.rootOf(cur.Node().(ast.Expr))
				return a != nil && a == b
			}
		}
		return false
	}
}

// readThrough reports whether an address is put into a variable through which what is there is read.
func (c variables) readThrough(cur inspector.Cursor) bool {
	v := definitions(c).variable(cur)
	return v != nil && slices.ContainsFunc(c.uses[v], func(use inspector.Cursor) bool {
		return use.ParentEdgeKind() != edge.AssignStmt_Lhs && !c.onlyWrites(use)
	})
}

// reads notes what a function of the program reads of what others change.
func (c variables) reads(f *function, cur inspector.Cursor, at ast.Node, v *types.Var) {
	in := f.whole()
	if !c.ours() || in.role != host || !global(v) || ofOurs(v.Type()) || !c.isData(v) || starts(in) || c.onlyWrites(cur) || c.atStart(in, 0) {
		return
	}
	read := ""
	if cur.ParentEdgeKind() == edge.SelectorExpr_X {
		read = cur.Parent().Node().(*ast.SelectorExpr).Sel.Name
	}
	if how, ok := c.changed(v, read, nil); ok {
		effects(c).touched(f, touch{rule: ruleGlobals, at: at, what: fmt.Sprintf("a read of %s, %s", v.Name(), how)})
	}
}

// isData reports whether a variable holds data, and not a part of the program, as a connection, which is set once it is
// there.
func (c variables) isData(v *types.Var) bool {
	if types.IsInterface(v.Type()) || isFunc(v.Type()) {
		return false
	}
	ptr, ok := v.Type().Underlying().(*types.Pointer)
	if !ok {
		return true
	}
	l := &losses{of: v.Pkg(), seen: map[types.Type]bool{}}
	return l.in(ptr.Elem(), "", true) == ""
}

// handsOn reports whether an address is given to other workflow code, which reads what is there.
func (c variables) handsOn(cur inspector.Cursor) bool {
	call, ok := cur.Parent().Node().(*ast.CallExpr)
	if !ok || cur.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	for _, arg := range call.Args {
		if t := c.info.TypeOf(arg); t != nil && isContext(t) {
			return true
		}
	}
	return false
}

// ofOurs reports whether a type is of Stepwell, or of tests: what is set once, as a program or a test begins.
func ofOurs(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	path := n.Obj().Pkg().Path()
	return ofLibrary(path) || path == "testing" || path == "sync" && n.Obj().Name() != "Map" || path == "flag"
}
