package vet

// How code would go: where all that it asks for fails, as its run is cancelled; where nothing fails; or where nothing
// is known. Each way that it may take is followed once.

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
)

// truth is what is known of a condition.
type truth int

const (
	maybe truth = iota
	yes
	no
)

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return maybe
}

// when is what is taken for granted.
type when int

const (
	whatever  when = iota
	cancelled      // operations fail with ErrCancelled
	succeeds       // nothing fails, but for what is asked about: a timeout
)

// failing is what is known of an error, or of a variable that is true or false.
type failing int

const (
	unsure failing = iota
	fine
	gone // of a cancelled run
	isTrue
	isFalse
)

// of is a truth that a variable has.
func (t truth) of() failing { return [...]failing{maybe: unsure, yes: isTrue, no: isFalse}[t] }

// ends are the ways in which a part of the code may end.
type ends int

const (
	falls  ends = 1 << iota // to what is behind it
	again                   // continue, of the loop around it
	breaks                  // of that loop, or a switch
	round                   // continue, of the loop that is tried
	out                     // break, of the loop that is tried
	leaves                  // the function, or a loop around the one that is tried
	calls                   // the function again
)

// trial follows code.
type trial struct {
	*code
	when   when
	within ast.Node // the loop that is tried, or the function
	label  string   // of that loop
	errs   map[*types.Var]failing
	won    map[*types.Var]int64    // what Select has returned
	first  map[*ast.CallExpr]int64 // what calls of Select return
	cycle  map[*types.Func]bool    // the functions whose calls are calls of the one that is tried
	last   ast.Node                // where it goes round
	failed string                  // what failed last
	nested int                     // loops and switches around, in the loop that is tried
	inners int                     // loops around, in that

	rounds []map[*types.Var]failing // what is known where it goes round
}

// loop tries a round of a loop.
func (t *trial) loop(block *ast.BlockStmt) ends {
	got := t.list(block.List)
	if got&(falls|again) != 0 {
		got = got&^(falls|again) | round
	}
	if got&breaks != 0 {
		got = got&^breaks | out
	}
	return got
}

func (t *trial) list(list []ast.Stmt) (got ends) {
	got = falls
	for _, s := range list {
		if got&falls == 0 {
			return got
		}
		got = got&^falls | t.stmt(s)
	}
	return got
}

func (t *trial) stmt(s ast.Stmt) ends {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return t.list(s.List)
	case *ast.LabeledStmt:
		return t.stmt(s.Stmt)
	case *ast.IfStmt:
		return t.ifs(s)
	case *ast.AssignStmt:
		if t.recurs(s) {
			return calls
		}
		t.assign(s)
	case *ast.DeclStmt:
		t.declare(s)
	case *ast.ExprStmt:
		if call, ok := ast.Unparen(s.X).(*ast.CallExpr); ok && t.src.builtin(call, "panic") {
			return leaves
		}
		if t.recurs(s) {
			return calls
		}
		t.fails(s)
	case *ast.ReturnStmt:
		if t.recurs(s) {
			return calls
		}
		return leaves
	case *ast.BranchStmt:
		return t.branch(s)
	case *ast.ForStmt:
		return t.inner(s.Body, s.Cond == nil || t.src.isTrue(s.Cond))
	case *ast.RangeStmt:
		return t.inner(s.Body, false)
	case *ast.SwitchStmt:
		return t.switches(s)
	case *ast.TypeSwitchStmt:
		return t.cases(s.Body.List)
	case *ast.SelectStmt:
		return t.cases(s.Body.List)
	}
	return falls
}

// recurs reports whether a statement calls the function that is tried in any case.
func (t *trial) recurs(n ast.Node) (found bool) {
	if len(t.cycle) == 0 {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				return false
			}
		case *ast.CallExpr:
			found = found || t.cycle[t.callee(n)]
		}
		return !found
	})
	return found
}

func (t *trial) branch(s *ast.BranchStmt) ends {
	label := ""
	if s.Label != nil {
		label = s.Label.Name
	}
	own := label != "" && label == t.label
	switch s.Tok {
	case token.CONTINUE:
		if own || label == "" {
			t.last = s
		}
		if own || label == "" && t.inners == 0 {
			t.rounds = append(t.rounds, maps.Clone(t.errs))
		}
		if own {
			return round
		}
		if label == "" {
			return again
		}
	case token.BREAK:
		if own {
			return out
		}
		if label == "" {
			return breaks
		}
	case token.GOTO:
		if own {
			t.last = s
			return round
		}
		if l := t.labelled(label); l != nil && t.within.Pos() <= l.Pos() && l.Pos() < t.within.End() {
			return falls | leaves // somewhere in it
		}
	case token.FALLTHROUGH:
		return falls
	}
	if l := t.labelled(label); l != nil && t.within.Pos() < l.Pos() && l.Pos() < t.within.End() {
		return falls // of a loop in it
	}
	return leaves
}

// labelled is the statement of a label.
func (t *trial) labelled(name string) (found *ast.LabeledStmt) {
	ast.Inspect(t.within, func(n ast.Node) bool {
		if l, ok := n.(*ast.LabeledStmt); ok && l.Label.Name == name {
			found = l
		}
		return found == nil
	})
	return found
}

// inner tries a loop in the one that is tried: a round of it, or none.
func (t *trial) inner(block *ast.BlockStmt, endless bool) ends {
	before := maps.Clone(t.errs)
	last := t.last
	t.nested++
	t.inners++
	got := t.list(block.List)
	t.nested--
	t.inners--
	if got&round == 0 {
		t.last = last
	}
	t.join(before)
	over := got &^ (falls | again | breaks)
	if !endless || got&breaks != 0 {
		over |= falls
	}
	return over
}

func (t *trial) cases(list []ast.Stmt) (got ends) {
	before := maps.Clone(t.errs)
	whole := false
	t.nested++
	var after []map[*types.Var]failing
	for _, s := range list {
		t.errs = maps.Clone(before)
		switch s := s.(type) {
		case *ast.CaseClause:
			whole = whole || s.List == nil
			got |= t.list(s.Body)
		case *ast.CommClause:
			whole = true
			got |= t.list(s.Body)
		}
		after = append(after, t.errs)
	}
	t.nested--
	t.errs = before
	for _, a := range after {
		t.join(a)
	}
	return t.left(got, whole)
}

// left is how a switch ends.
func (t *trial) left(got ends, whole bool) ends {
	if !whole || got&breaks != 0 {
		got |= falls
	}
	return got &^ breaks
}

func (t *trial) switches(s *ast.SwitchStmt) (got ends) {
	if s.Init != nil {
		t.stmt(s.Init)
	}
	is := t.truth
	if s.Tag != nil {
		if t.integer(s.Tag) == nil {
			return t.cases(s.Body.List)
		}
		is = func(e ast.Expr) truth { return t.compared(s.Tag, token.EQL, e) }
	}
	before := maps.Clone(t.errs)
	var other *ast.CaseClause
	open := true
	t.nested++
	// continue in a switch is of the loop around it, break of the switch.
	run := func(clause *ast.CaseClause) {
		t.errs = maps.Clone(before)
		got |= t.list(clause.Body)
	}
	for _, s := range s.Body.List {
		clause := s.(*ast.CaseClause)
		if clause.List == nil {
			other = clause
			continue
		}
		so := no
		for _, e := range clause.List {
			if at := is(e); at == yes || at == maybe && so == no {
				so = at
			}
		}
		if so != no && open {
			run(clause)
		}
		if so == yes {
			open = false
			break
		}
	}
	if open && other != nil {
		run(other)
		open = false
	}
	t.nested--
	return t.left(got, !open)
}

func (t *trial) ifs(s *ast.IfStmt) ends {
	if s.Init != nil {
		t.stmt(s.Init)
	}
	is := t.truth(s.Cond)
	before := maps.Clone(t.errs)
	var one, two ends
	other := func() ends {
		if s.Else == nil {
			return falls
		}
		return t.stmt(s.Else)
	}
	switch is {
	case yes:
		return t.stmt(s.Body)
	case no:
		return other()
	}
	one = t.stmt(s.Body)
	after := t.errs
	t.errs = before
	two = other()
	if t.when == cancelled && t.fixed(s.Cond) { // the same in each round: it was so in the one before
		gone := out | leaves
		if t.nested == 0 {
			gone |= breaks
		}
		switch {
		case one != 0 && one&^gone == 0:
			return two
		case two != 0 && two&^gone == 0:
			t.errs = after
			return one
		}
	}
	if two&falls != 0 && one&falls == 0 {
		return one | two
	}
	if one&falls != 0 && two&falls == 0 {
		t.errs = after
		return one | two
	}
	t.join(after)
	return one | two
}

// join forgets what holds on one of two ways only.
func (t *trial) join(other map[*types.Var]failing) {
	for v, is := range t.errs {
		if other[v] != is {
			t.errs[v] = unsure
		}
	}
}

func (t *trial) declare(s *ast.DeclStmt) {
	g, ok := s.Decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		vs, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range vs.Names {
			v, _ := t.info.Defs[name].(*types.Var)
			switch {
			case v == nil || !isError(v.Type()):
			case len(vs.Values) == 0:
				t.errs[v] = fine
			case len(vs.Values) == len(vs.Names):
				t.errs[v] = t.failing(vs.Values[i])
			}
		}
	}
}

func (t *trial) assign(s *ast.AssignStmt) {
	if call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr); ok {
		if i, ok := t.first[call]; ok {
			if v, _ := t.varOf(s.Lhs[0]).(*types.Var); v != nil {
				t.won[v] = i
			}
		}
	}
	for i, to := range s.Lhs {
		v, _ := t.varOf(to).(*types.Var)
		if v == nil || !isError(v.Type()) && !isBool(v.Type()) {
			continue
		}
		switch {
		case isBool(v.Type()) && len(s.Lhs) == len(s.Rhs):
			t.errs[v] = t.truth(s.Rhs[i]).of()
		case isBool(v.Type()):
			t.errs[v] = t.toldBy(s.Rhs[0])
		case len(s.Lhs) == len(s.Rhs):
			t.errs[v] = t.failing(s.Rhs[i])
		case i == len(s.Lhs)-1:
			t.errs[v] = t.failing(s.Rhs[0])
		default:
			t.errs[v] = unsure
		}
	}
	t.fails(s)
}

// toldBy is what is true of a result beside others: nothing, where an operation fails, or an error is of no such type.
func (t *trial) toldBy(e ast.Expr) failing {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || t.when != cancelled {
		return unsure
	}
	if op := t.operation(call); op != nil && lastIsError(op.Signature()) {
		return isFalse
	}
	if f := t.callee(call); f != nil && f.Pkg() != nil && f.Pkg().Path() == "errors" && f.Name() == "AsType" && t.failing(call.Args[0]) == gone {
		return isFalse
	}
	return unsure
}

// assume takes for granted that a condition holds, of variables that nothing but the code around it changes.
func (t *trial) assume(e ast.Expr, is bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			t.assume(e.X, !is)
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND && is || e.Op == token.LOR && !is {
			t.assume(e.X, is)
			t.assume(e.Y, is)
		}
	case *ast.Ident:
		v, ok := t.info.Uses[e].(*types.Var)
		if !ok || global(v) || v.IsField() || !isBool(v.Type()) {
			return
		}
		own := t.src.enclosing(t.within)
		for _, w := range t.writes[v] {
			if w.byAddr || t.around(w.cur) != own {
				return
			}
		}
		t.errs[v] = isFalse
		if is {
			t.errs[v] = isTrue
		}
	}
}
