package vet

// The order of a map: ranges that ask for something, and what they build for an operation.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// orders are those of maps.
type orders struct{ *code }

// unordered says what gives things in the order of a map, or "".
func (c orders) unordered(e ast.Expr) string {
	e = ast.Unparen(e)
	if _, ok := typeOf(c.info, e).(*types.Map); ok {
		return "a map"
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f := c.callee(call)
	if f == nil || f.Pkg() == nil {
		return ""
	}
	switch name := called(f); {
	case f.Pkg().Path() == "maps" && (name == "maps.Keys" || name == "maps.Values" || name == "maps.All"), f.Pkg().Path() == "golang.org/x/exp/maps" && (name == "maps.Keys" || name == "maps.Values"):
		return name
	case f.Pkg().Path() == "reflect" && (name == "Value.MapKeys" || name == "Value.MapRange"), f.Pkg().Path() == "sync" && name == "Map.Range":
		return name
	case f.Pkg().Path() == "slices" && (name == "slices.Collect" || name == "slices.AppendSeq") && len(call.Args) > 0:
		if of := c.unordered(call.Args[len(call.Args)-1]); of != "" {
			return name + " of " + of
		}
	}
	return c.mixed(call, 0)
}

// mixed says of what map a result of a call has the order, or "".
func (c orders) mixed(call *ast.CallExpr, i int) string {
	for _, t := range c.see.targets(call.Fun) {
		if where := c.see.deedOf(t).mixed[i]; where != "" {
			return fmt.Sprintf("%s (%s)", c.see.callName(call), where)
		}
	}
	return ""
}

// deeds notes which results of a function are in the order of a map, which functions it calls in such an order, and
// what it sorts.
func (c orders) deeds(f *function, d *deed) {
	numbers := map[*types.Var]int{}
	f.params(func(i int, p *types.Var) { numbers[p] = i })
	mixed := func(of ast.Node, results []int) {
		for _, i := range results {
			if d.mixed[i] == "" {
				d.mixed[i] = c.where(of.Pos())
			}
		}
	}
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.RangeStmt:
			if c.unordered(n.X) == "" {
				continue
			}
			for v := range c.built(n.Body) {
				_, results := c.ordered(f, v, n.End())
				mixed(n, results)
			}
			mixed(n, c.firstOf(n))
			for p := range numbers {
				if isFunc(p.Type()) && c.callsIn(n.Body, p) {
					d.ordered[numbers[p]] = true
				}
			}
		case *ast.CallExpr:
			c.inOrder(n, func(arg ast.Expr) {
				if i, ok := numbers[c.rooted(arg)]; ok {
					d.ordered[i] = true
				}
			})
			for i, arg := range n.Args {
				if p, ok := numbers[c.rooted(arg)]; ok && (c.sorts(n) || c.sortsArg(n, i)) {
					d.sorts[p] = true
				}
			}
		case *ast.AssignStmt:
			c.gets(n, func(v *types.Var, _ ast.Expr, _ string) {
				_, results := c.ordered(f, v, n.End())
				mixed(n, results)
			})
		case *ast.ReturnStmt:
			for i, e := range n.Results {
				if c.unordered(e) != "" && !isMap(c.info, e) || c.yields(e) {
					mixed(n, []int{i})
				}
			}
		}
	}
}

// gets finds the variables that get something in the order of a map.
func (c orders) gets(n *ast.AssignStmt, found func(v *types.Var, from ast.Expr, of string)) {
	for i, to := range n.Lhs {
		v, _ := c.varOf(to).(*types.Var)
		if v == nil || isMap(c.info, to) {
			continue
		}
		if len(n.Lhs) == len(n.Rhs) {
			if of := c.unordered(n.Rhs[i]); of != "" && !isMap(c.info, n.Rhs[i]) {
				found(v, n.Rhs[i], of)
			}
		} else if call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr); ok {
			if of := c.mixed(call, i); of != "" {
				found(v, call, of)
			}
		}
	}
}

// firstOf are the results of a function that are what a map's range comes to first.
func (c orders) firstOf(loop *ast.RangeStmt) (results []int) {
	for _, s := range loop.Body.List {
		ret, ok := s.(*ast.ReturnStmt)
		if !ok {
			continue
		}
		for i, e := range ret.Results {
			for _, of := range []ast.Expr{loop.Key, loop.Value} {
				if v, _ := c.rootOfOrNil(of); v != nil && c.src.mentions(e, v) {
					results = append(results, i)
				}
			}
		}
	}
	return results
}

func (c orders) rootOfOrNil(e ast.Expr) (*types.Var, *ast.Ident) {
	if e == nil {
		return nil, nil
	}
	return c.rootOf(e)
}

// callsIn reports whether a function that is a parameter is called in a part of the code, or handed on there.
func (c orders) callsIn(n ast.Node, p *types.Var) bool {
	return slices.ContainsFunc(c.uses[p], func(use inspector.Cursor) bool {
		return n.Pos() <= use.Node().Pos() && use.Node().Pos() < n.End()
	})
}

// inOrder finds the functions that a call calls in the order of a map.
func (c orders) inOrder(call *ast.CallExpr, found func(ast.Expr)) {
	if f := c.callee(call); f != nil && f.Pkg() != nil && f.Pkg().Path() == "sync" && called(f) == "Map.Range" && len(call.Args) == 1 {
		found(call.Args[0])
		return
	}
	for _, t := range c.see.targets(call.Fun) {
		if d := c.see.deedOf(t); len(d.ordered) > 0 {
			c.see.arguments(call, t, func(i int, arg ast.Expr) {
				if d.ordered[i] {
					found(arg)
				}
			})
		}
	}
}

// yields reports whether an expression is a function that yields in the order of a map.
func (c orders) yields(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.FuncLit)
	if !ok || c.functions[lit] == nil || c.functions[lit].sig.Params().Len() == 0 {
		return false
	}
	yield := c.functions[lit].sig.Params().At(0)
	found := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			found = found || c.unordered(n.X) != "" && c.callsIn(n.Body, yield)
		case *ast.CallExpr:
			c.inOrder(n, func(arg ast.Expr) { found = found || c.rooted(arg) == yield })
		}
		return !found
	})
	return found
}

// sortsArg reports whether a function sorts an argument.
func (c orders) sortsArg(call *ast.CallExpr, i int) bool {
	for _, t := range c.see.targets(call.Fun) {
		if c.see.deedOf(t).sorts[i] {
			return true
		}
	}
	return false
}

// built are the variables from around the body of a loop that each of its rounds adds to at the end.
func (c orders) built(block *ast.BlockStmt) map[*types.Var]bool {
	all := map[*types.Var]bool{}
	note := func(e ast.Expr) {
		if v, ok := c.varOf(e).(*types.Var); ok && (v.IsField() || v.Pos() < block.Pos() || block.End() <= v.Pos()) {
			if root := c.rooted(e); root != nil && (root.Pos() < block.Pos() || block.End() <= root.Pos()) {
				all[v] = true
			}
		}
	}
	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
				return true
			}
			t := typeOf(c.info, n.Lhs[0])
			basic, _ := t.(*types.Basic)
			call, ok := n.Rhs[0].(*ast.CallExpr)
			if ok && c.src.builtin(call, "append") || n.Tok == token.ADD_ASSIGN && basic != nil && basic.Info()&types.IsString != 0 {
				note(n.Lhs[0])
			}
		case *ast.ExprStmt:
			call, ok := n.X.(*ast.CallExpr)
			if !ok {
				return true
			}
			f := c.callee(call)
			if f == nil || f.Pkg() == nil {
				return true
			}
			sel, method := ast.Unparen(call.Fun).(*ast.SelectorExpr)
			switch path := f.Pkg().Path(); {
			case method && strings.HasPrefix(f.Name(), "Write") && (path == "strings" || path == "bytes"):
				note(sel.X)
			case path == "fmt" && strings.HasPrefix(f.Name(), "Fprint"):
				if u, ok := call.Args[0].(*ast.UnaryExpr); ok {
					note(u.X)
				}
			}
		}
		return true
	})
	return all
}

// usesOf are the uses of a variable, or of a field in a function.
func (c orders) usesOf(f *function, v *types.Var) []inspector.Cursor {
	if !v.IsField() {
		return slices.Clone(c.uses[v])
	}
	var all []inspector.Cursor
	of := map[*types.Var]bool{}
	for cur := range f.cur.Preorder((*ast.SelectorExpr)(nil)) {
		if sel := cur.Node().(*ast.SelectorExpr); c.info.Uses[sel.Sel] == v {
			all = append(all, cur)
			if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
				if root := c.rooted(id); root != nil {
					of[root] = true
				}
			}
		}
	}
	for root := range of { // what has the field, as a whole
		for _, use := range c.uses[root] {
			if use.ParentEdgeKind() != edge.SelectorExpr_X {
				all = append(all, use)
			}
		}
	}
	return all
}

// ordered says whether a variable, from a place on, is given to an operation before anything sorts it, and which
// results of the function it is returned as so.
func (c orders) ordered(f *function, v *types.Var, from token.Pos) (op string, results []int) {
	uses := c.usesOf(f, v)
	slices.SortFunc(uses, func(a, b inspector.Cursor) int { return int(a.Node().Pos() - b.Node().Pos()) })
	for _, use := range uses {
		if use.Node().Pos() < from || !f.within(use.Node().Pos()) {
			continue
		}
		if use.ParentEdgeKind() == edge.AssignStmt_Lhs && c.anew(use.Parent().Node().(*ast.AssignStmt), v) {
			return op, results
		}
		for up := range use.Enclosing((*ast.CallExpr)(nil), (*ast.RangeStmt)(nil), (*ast.ReturnStmt)(nil)) {
			switch n := up.Node().(type) {
			case *ast.CallExpr:
				i := slices.IndexFunc(n.Args, func(arg ast.Expr) bool {
					return arg.Pos() <= use.Node().Pos() && use.Node().Pos() < arg.End()
				})
				if c.sorts(n) || i >= 0 && c.sortsArg(n, i) {
					return op, results
				}
				if what := c.see.asked(n); what != "" && op == "" && !c.counted(use) {
					op = what
				}
			case *ast.RangeStmt:
				if n.X.Pos() <= use.Node().Pos() && use.Node().Pos() < n.X.End() && op == "" {
					op = c.see.asks(n.Body)
				}
			case *ast.ReturnStmt:
				for i, e := range n.Results {
					if e.Pos() <= use.Node().Pos() && use.Node().Pos() < e.End() && !c.counted(use) && c.around(up) == f && !c.told(e) {
						results = append(results, i)
					}
				}
			}
		}
	}
	for i := range f.sig.Results().Len() {
		if f.sig.Results().At(i) == v && c.returnsBare(f, from) {
			results = append(results, i)
		}
	}
	return op, results
}

// anew reports whether a variable is set to something else altogether.
func (c orders) anew(n *ast.AssignStmt, v *types.Var) bool {
	if n.Tok != token.ASSIGN {
		return false
	}
	return !slices.ContainsFunc(n.Rhs, func(e ast.Expr) bool { return c.src.mentions(e, v) })
}

// told reports whether an expression only tells something of what it is made of: a number or a truth.
func (c orders) told(e ast.Expr) bool {
	b, ok := typeOf(c.info, e).(*types.Basic)
	_, call := ast.Unparen(e).(*ast.CallExpr)
	return ok && b.Info()&types.IsString == 0 && !call
}

// returnsBare reports whether a function returns, from a place on, what its named results hold.
func (c orders) returnsBare(f *function, from token.Pos) bool {
	for cur := range c.inside(f) {
		if ret, ok := cur.Node().(*ast.ReturnStmt); ok && len(ret.Results) == 0 && ret.Pos() > from {
			return true
		}
	}
	return false
}

// counted reports whether a use is only asked for its length.
func (c orders) counted(use inspector.Cursor) bool {
	call, ok := use.Parent().Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && (id.Name == "len" || id.Name == "cap") && c.info.Types[call.Fun].IsBuiltin()
}

// sorts reports whether a call sorts, as far as its name tells.
func (c orders) sorts(call *ast.CallExpr) bool {
	f := c.callee(call)
	if f == nil || f.Pkg() == nil {
		return false
	}
	return f.Pkg().Path() == "sort" || strings.Contains(strings.ToLower(f.Name()), "sort")
}

// mapOrder reports ranges over maps that ask for something, and operations that get what came in the order of a map.
func (c orders) mapOrder(f *function) {
	for cur := range c.inside(f) {
		switch n := cur.Node().(type) {
		case *ast.RangeStmt:
			c.mapRange(f, n)
		case *ast.AssignStmt:
			c.gets(n, func(v *types.Var, from ast.Expr, of string) {
				if op, _ := c.ordered(f, v, n.End()); op != "" {
					c.report(ruleMapOrder, from, fmt.Sprintf("%s gets %s in the order of %s, which is another each time: sort it before", op, v.Name(), of))
				}
			})
		case *ast.CallExpr:
			c.inOrder(n, func(arg ast.Expr) { c.calledInOrder(f, n, arg) })
			if op := c.see.asked(n); op != "" {
				for _, arg := range n.Args {
					if of := c.unordered(arg); of != "" && !isMap(c.info, arg) {
						c.report(ruleMapOrder, arg, fmt.Sprintf("%s gets the order of %s, which is another each time: sort it before", op, of))
					}
				}
			}
		}
	}
}

// calledInOrder reports a function that is called in the order of a map, and asks for something or builds what does.
func (c orders) calledInOrder(f *function, call *ast.CallExpr, arg ast.Expr) {
	name := "Map.Range, whose order"
	if g := c.callee(call); g == nil || g.Pkg() == nil || g.Pkg().Path() != "sync" {
		name = c.see.callName(call) + ", which goes through a map: its order"
	}
	op := ""
	lit, ok := ast.Unparen(arg).(*ast.FuncLit)
	if ok {
		op = c.see.asks(lit.Body)
	} else {
		for _, t := range c.see.targets(arg) {
			if c.see.opOf(t) != "" {
				op = c.src.text(arg)
			}
		}
	}
	if op != "" {
		c.report(ruleMapOrder, call.Fun, fmt.Sprintf("%s in %s is another each time: results of one name are mixed up, and nobody sees it; range over sorted keys", op, name))
		return
	}
	if !ok {
		return
	}
	for v := range c.built(lit.Body) {
		if op, _ := c.ordered(f, v, call.End()); op != "" {
			c.report(ruleMapOrder, call.Fun, fmt.Sprintf("%s gets %s, which is built in %s is another each time: range over sorted keys, or sort it before", op, v.Name(), name))
		}
	}
}

func isMap(info *types.Info, e ast.Expr) bool {
	_, ok := typeOf(info, e).(*types.Map)
	return ok
}

func (c orders) mapRange(f *function, loop *ast.RangeStmt) {
	of := c.unordered(loop.X)
	if of == "" || loop.Key == nil && loop.Value == nil {
		return
	}
	if op := c.see.asks(loop.Body); op != "" {
		c.report(ruleMapOrder, span{loop.For, loop.X.End()}, fmt.Sprintf("%s in a range over %s, whose order is another each time: results of one name are mixed up, and nobody sees it; range over sorted keys", op, of), repairs(c).fixRange(loop)...)
		return
	}
	for v := range c.built(loop.Body) {
		if op, _ := c.ordered(f, v, loop.End()); op != "" {
			c.report(ruleMapOrder, span{loop.For, loop.X.End()}, fmt.Sprintf("%s gets %s, which is built in the order of %s, another each time: range over sorted keys, or sort it before", op, v.Name(), of), repairs(c).fixRange(loop)...)
		}
	}
}

// span is a part of the code, to report at.
type span struct{ from, to token.Pos }

// Pos implements ast.Node.
func (s span) Pos() token.Pos { return s.from }

// End implements ast.Node.
func (s span) End() token.Pos { return s.to }

// fixRange ranges over sorted keys.
func (c repairs) fixRange(loop *ast.RangeStmt) []analysis.SuggestedFix {
	m, ok := typeOf(c.info, loop.X).(*types.Map)
	key, named := loop.Key.(*ast.Ident)
	if !ok || !named || loop.Tok != token.DEFINE || !c.onlyRead(loop) || !c.free(loop.Pos(), "slices") || !c.free(loop.Pos(), "maps") {
		return nil
	}
	if b, ok := m.Key().Underlying().(*types.Basic); !ok || b.Info()&types.IsOrdered == 0 {
		return nil
	}
	file := c.src.fileOf(loop.Pos())
	name := key.Name
	value, _ := loop.Value.(*ast.Ident)
	if loop.Value != nil && value == nil {
		return nil
	}
	line := ""
	if value != nil && value.Name != "_" {
		if name == "_" {
			name = "key"
			if c.src.usesName(loop, name) {
				return nil
			}
		}
		if in := c.info.Scopes[loop.Body]; in == nil || in.Lookup(value.Name) != nil || c.src.usesName(loop.X, name) {
			return nil // the body declares the name again, or the key hides the map
		}
		line = fmt.Sprintf("\n%s := %s[%s]", value.Name, c.src.text(loop.X), name)
	}
	if name == "_" {
		return nil
	}
	slicesName, one := c.importing(file, "slices")
	mapsName, two := c.importing(file, "maps")
	if slicesName == "" || mapsName == "" {
		return nil
	}
	edits := append(merge(one, two),
		analysis.TextEdit{Pos: loop.Key.Pos(), End: loop.X.End(), NewText: fmt.Appendf(nil, "_, %s := range %s.Sorted(%s.Keys(%s))", name, slicesName, mapsName, c.src.text(loop.X))})
	if line != "" {
		edits = append(edits, analysis.TextEdit{Pos: loop.Body.Lbrace + 1, End: loop.Body.Lbrace + 1, NewText: []byte(line)})
	}
	return []analysis.SuggestedFix{{Message: "Range over sorted keys", TextEdits: edits}}
}
