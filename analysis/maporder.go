package analysis

// The order of a map: ranges that ask for something, and what they build for an operation.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// orders are those of maps.
type orders struct{ *code }

// asks says what a part of workflow code asks of Stepwell first, or "": operations, and functions that are given the
// Context.
func (c *code) asks(n ast.Node) string { return c.asksOf(n, map[*function]bool{}) }

func (c *code) asksOf(n ast.Node, seen map[*function]bool) (what string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if what != "" {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			f := c.functions[n]
			return f != nil && f.role == workflow
		case *ast.CallExpr:
			what = c.asked(n, seen)
		}
		return what == ""
	})
	return what
}

// asked is what a call asks for.
func (c *code) asked(call *ast.CallExpr, seen map[*function]bool) string {
	if op := c.operation(call); op != nil {
		return called(op)
	}
	f := c.callee(call)
	if f == nil { // a closure in a variable
		if v, ok := c.varOf(call.Fun).(*types.Var); ok {
			for _, e := range c.values[v.Origin()] {
				if lit, ok := ast.Unparen(e).(*ast.FuncLit); ok && c.functions[lit] != nil && c.functions[lit].role == workflow {
					return c.asksOnce(c.functions[lit], v.Name(), seen)
				}
			}
		}
		return ""
	}
	if recv := f.Signature().Recv(); recv != nil && isContext(recv.Type()) {
		if f.Name() == "NewID" || f.Name() == "Rand" {
			return "Context." + f.Name()
		}
		return ""
	}
	if f.Pkg() == nil || ofLibrary(f.Pkg().Path()) || !has(f.Signature(), isContext) {
		return ""
	}
	if g := c.declared[f]; g != nil {
		return c.asksOnce(g, f.Name(), seen)
	}
	return called(f)
}

func (c *code) asksOnce(f *function, name string, seen map[*function]bool) string {
	if seen[f] {
		return ""
	}
	seen[f] = true
	if c.asksOf(f.block(), seen) == "" {
		return ""
	}
	return name
}

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
	case f.Pkg().Path() == "slices" && name == "slices.Collect" && len(call.Args) == 1:
		if of := c.unordered(call.Args[0]); of != "" {
			return name + " of " + of
		}
	}
	if from, ok := effects(c).comesOf(f)[ruleMapOrder]; ok {
		return fmt.Sprintf("%s (%s)", called(f), from.where)
	}
	return ""
}

// mapOrders notes functions of the host that return what a range over a map has built.
func (c orders) mapOrders(f *function) {
	if f.role != host {
		return
	}
	for cur := range c.inside(f) {
		loop, ok := cur.Node().(*ast.RangeStmt)
		if !ok || c.unordered(loop.X) == "" {
			continue
		}
		for v := range c.built(loop) {
			if _, returned := c.ordered(f, v, loop.End()); returned {
				effects(c).touched(f, touch{rule: ruleMapOrder, at: loop, what: "a range over a map"})
			}
		}
	}
}

// built are the variables from around a loop that each of its rounds adds to at the end.
func (c orders) built(loop *ast.RangeStmt) map[*types.Var]bool {
	all := map[*types.Var]bool{}
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
			return true
		}
		id, ok := a.Lhs[0].(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := c.info.ObjectOf(id).(*types.Var)
		if !ok || loop.Pos() <= v.Pos() && v.Pos() < loop.End() {
			return true
		}
		call, ok := a.Rhs[0].(*ast.CallExpr)
		appends := ok && c.info.Types[call.Fun].IsBuiltin() && len(call.Args) > 0
		basic, _ := v.Type().Underlying().(*types.Basic)
		if appends || a.Tok == token.ADD_ASSIGN && basic != nil && basic.Info()&types.IsString != 0 {
			all[v] = true
		}
		return true
	})
	return all
}

// ordered says whether a variable, from a place on, is given to an operation before anything sorts it, and whether it
// is returned so.
func (c orders) ordered(f *function, v *types.Var, from token.Pos) (op string, returned bool) {
	uses := slices.Clone(c.uses[v])
	slices.SortFunc(uses, func(a, b inspector.Cursor) int { return int(a.Node().Pos() - b.Node().Pos()) })
	for _, use := range uses {
		if use.Node().Pos() < from || !f.within(use.Node().Pos()) {
			continue
		}
		for up := range use.Enclosing((*ast.CallExpr)(nil), (*ast.RangeStmt)(nil), (*ast.ReturnStmt)(nil)) {
			switch n := up.Node().(type) {
			case *ast.CallExpr:
				if c.sorts(n) {
					return op, returned
				}
				if what := c.asked(n, map[*function]bool{}); what != "" && op == "" && !c.counted(use) {
					op = what
				}
			case *ast.RangeStmt:
				if n.X.Pos() <= use.Node().Pos() && use.Node().Pos() < n.X.End() && op == "" {
					op = c.asks(n.Body)
				}
			case *ast.ReturnStmt:
				returned = true
			}
		}
	}
	return op, returned
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
			for i, e := range n.Rhs {
				if len(n.Lhs) != len(n.Rhs) || isMap(c.info, e) {
					continue
				}
				v, _ := c.varOf(n.Lhs[i]).(*types.Var)
				if of := c.unordered(e); of != "" && v != nil {
					if op, _ := c.ordered(f, v, n.End()); op != "" {
						c.report(ruleMapOrder, e, fmt.Sprintf("%s gets %s in the order of %s, which is another each time: sort it before", op, v.Name(), of))
					}
				}
			}
		case *ast.CallExpr:
			if op := c.operation(n); op != nil {
				for _, arg := range n.Args {
					if of := c.unordered(arg); of != "" && !isMap(c.info, arg) {
						c.report(ruleMapOrder, arg, fmt.Sprintf("%s gets the order of %s, which is another each time: sort it before", called(op), of))
					}
				}
			}
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
	if op := c.asks(loop.Body); op != "" {
		c.report(ruleMapOrder, span{loop.For, loop.X.End()}, fmt.Sprintf("%s in a range over %s, whose order is another each time: results of one name are mixed up, and nobody sees it; range over sorted keys", op, of), repairs(c).fixRange(loop)...)
		return
	}
	for v := range c.built(loop) {
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
	if !ok || !named || loop.Tok != token.DEFINE || !c.plain(loop.X) {
		return nil
	}
	if b, ok := m.Key().Underlying().(*types.Basic); !ok || b.Info()&types.IsOrdered == 0 {
		return nil
	}
	file := c.fileOf(loop.Pos())
	name := key.Name
	value, _ := loop.Value.(*ast.Ident)
	if loop.Value != nil && value == nil {
		return nil
	}
	line := ""
	if value != nil && value.Name != "_" {
		if name == "_" {
			name = "key"
			if c.usesName(loop, name) {
				return nil
			}
		}
		line = fmt.Sprintf("\n%s := %s[%s]", value.Name, c.text(loop.X), name)
	}
	if name == "_" {
		return nil
	}
	slicesName, one := c.importing(file, "slices")
	mapsName, two := c.importing(file, "maps")
	edits := append(merge(one, two),
		analysis.TextEdit{Pos: loop.Key.Pos(), End: loop.X.End(), NewText: fmt.Appendf(nil, "_, %s := range %s.Sorted(%s.Keys(%s))", name, slicesName, mapsName, c.text(loop.X))})
	if line != "" {
		edits = append(edits, analysis.TextEdit{Pos: loop.Body.Lbrace + 1, End: loop.Body.Lbrace + 1, NewText: []byte(line)})
	}
	return []analysis.SuggestedFix{{Message: "Range over sorted keys", TextEdits: edits}}
}
