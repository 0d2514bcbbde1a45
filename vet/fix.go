package vet

// Repairs, where the change is plain.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// repairs are made where the change is plain.
type repairs struct{ *code }

// text is code as it stands.
func (c source) text(n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, c.pass.Fset, n); err != nil {
		return ""
	}
	return b.String()
}

func (c source) fileOf(pos token.Pos) *ast.File {
	for _, f := range c.pass.Files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}

// plain reports whether an expression may stand twice: a variable, or a part of one.
func (c source) plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return c.src.plain(e.X)
	}
	return false
}

func (c source) usesName(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// contextAt is the name of the Context that code at a place has, or "".
func (c repairs) contextAt(f *function, pos token.Pos) string {
	in := c.pass.Pkg.Scope().Innermost(pos)
	for ; f != nil && in != nil; f = f.outer {
		for v := range f.sig.Params().Variables() {
			if isContext(v.Type()) && v.Name() != "" && v.Name() != "_" {
				if _, o := in.LookupParent(v.Name(), pos); o == v {
					return v.Name()
				}
			}
		}
	}
	return ""
}

// free reports whether a name is that of no variable or other declaration at a place: a package may have it there.
func (c repairs) free(pos token.Pos, name string) bool {
	in := c.pass.Pkg.Scope().Innermost(pos)
	if in == nil {
		return false
	}
	_, o := in.LookupParent(name, pos)
	if o == nil {
		return true
	}
	p, ok := o.(*types.PkgName)
	return ok && p.Imported().Path() == name
}

// importing is the name that a file has for a package, with the edit that imports it; "": it has it without one.
func (c repairs) importing(f *ast.File, path string) (name string, edits []analysis.TextEdit) {
	base := path[strings.LastIndex(path, "/")+1:]
	for _, spec := range f.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == path {
			switch {
			case spec.Name == nil:
				return base, nil
			case spec.Name.Name != "_" && spec.Name.Name != ".":
				return spec.Name.Name, nil
			}
			return "", nil
		}
	}
	line := strconv.Quote(path) + "\n"
	if g, ok := f.Decls[0].(*ast.GenDecl); ok && g.Tok == token.IMPORT { // imports come first
		if g.Lparen.IsValid() {
			at := g.Lparen + 1
			return base, []analysis.TextEdit{{Pos: at, End: at, NewText: []byte("\n\t" + strings.TrimSuffix(line, "\n"))}}
		}
		return base, []analysis.TextEdit{{Pos: g.Pos(), End: g.Pos(), NewText: []byte("import " + line)}}
	}
	return base, []analysis.TextEdit{{Pos: f.Name.End(), End: f.Name.End(), NewText: []byte("\n\nimport " + line)}}
}

// merge joins edits that are at one place.
func merge(a, b []analysis.TextEdit) []analysis.TextEdit {
	if len(a) == 1 && len(b) == 1 && a[0].Pos == b[0].Pos {
		return []analysis.TextEdit{{Pos: a[0].Pos, End: a[0].End, NewText: append(bytes.Clone(a[0].NewText), b[0].NewText...)}}
	}
	return append(a, b...)
}

func replaced(message string, n ast.Node, format string, args ...any) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{Message: message, TextEdits: []analysis.TextEdit{{Pos: n.Pos(), End: n.End(), NewText: fmt.Appendf(nil, format, args...)}}}}
}

// ofRun are the names that ctx.Rand() has for what package math/rand offers.
var ofRun = map[string]string{"Intn": "IntN", "Int31": "Int32", "Int31n": "Int32N", "Int63": "Int64", "Int63n": "Int64N", "N": ""}

// fixCall puts what the Context has in the place of a call. Arguments stay as they are: they may be repaired too, and
// go vet makes no repair at all where two overlap.
func (c repairs) fixCall(f *function, at ast.Expr, o *types.Func) []analysis.SuggestedFix {
	ctx := c.contextAt(f, at.Pos())
	call, ok := at.(*ast.CallExpr)
	if ctx == "" || !ok {
		return nil
	}
	switch o.Pkg().Path() + "." + o.Name() {
	case "time.Now":
		return replaced("Use the workflow's time", call, "%s.Now()", ctx)
	case "time.Since":
		return replaced("Use the workflow's time", call.Fun, "%s.Now().Sub", ctx)
	case "time.Until":
		if c.src.plain(call.Args[0]) {
			return replaced("Use the workflow's time", call, "%s.Sub(%s.Now())", c.src.text(call.Args[0]), ctx)
		}
	case "time.Sleep":
		return c.fixSleep(f, call, ctx)
	case "github.com/google/uuid.NewString":
		return replaced("Use an ID of the run", call, "%s.NewID()", ctx)
	case "github.com/google/uuid.New", "github.com/oklog/ulid/v2.Make":
		return c.fixID(call, ctx)
	}
	switch o.Pkg().Path() {
	case "math/rand", "math/rand/v2":
		name, other := ofRun[o.Name()]
		if !other {
			name = o.Name()
		}
		if name == "" || name == "Read" || name == "Seed" {
			return nil
		}
		return replaced("Use the run's randomness", call.Fun, "%s.Rand().%s", ctx, name)
	case "log/slog":
		switch o.Name() {
		case "Debug", "Info", "Warn", "Error":
			return replaced("Use the run's logger", call.Fun, "%s.Logger().%s", ctx, o.Name())
		}
	}
	return nil
}

// fixID puts an ID of the run in the place of the text of a generated one.
func (c repairs) fixID(call *ast.CallExpr, ctx string) []analysis.SuggestedFix {
	cur, ok := cursorOf(c.root, call)
	if !ok {
		return nil
	}
	sel, ok := cur.Parent().Node().(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "String" {
		return nil
	}
	return replaced("Use an ID of the run", cur.Parent().Parent().Node(), "%s.NewID()", ctx)
}

// inList reports whether a statement stands where any other may: in a block, a case or behind a label, and not in the
// head of an if, a for or a switch.
func inList(stmt inspector.Cursor) bool {
	switch stmt.ParentEdgeKind() {
	case edge.BlockStmt_List, edge.CaseClause_Body, edge.CommClause_Body, edge.LabeledStmt_Stmt:
		return true
	}
	return false
}

// fixSleep sleeps durably where the function can return the error of it.
func (c repairs) fixSleep(f *function, call *ast.CallExpr, ctx string) []analysis.SuggestedFix {
	cur, ok := cursorOf(c.root, call)
	if !ok {
		return nil
	}
	stmt, ok := cur.Parent().Node().(*ast.ExprStmt)
	results := f.sig.Results()
	if !ok || !inList(cur.Parent()) || results.Len() == 0 || !types.Identical(results.At(results.Len()-1).Type(), types.Universe.Lookup("error").Type()) {
		return nil
	}
	var back []string
	for i := range results.Len() - 1 {
		z := zero(results.At(i).Type())
		if z == "" {
			return nil
		}
		back = append(back, z)
	}
	name, edits := c.importing(c.src.fileOf(call.Pos()), module)
	if edits != nil || name == "" {
		return nil
	}
	d := call.Args[0] // it stays as it is, and may be repaired too
	return []analysis.SuggestedFix{{Message: "Sleep durably", TextEdits: []analysis.TextEdit{
		{Pos: stmt.Pos(), End: d.Pos(), NewText: fmt.Appendf(nil, "if err := %s.Sleep(%s, \"sleep\", ", name, ctx)},
		{Pos: d.End(), End: stmt.End(), NewText: fmt.Appendf(nil, "); err != nil {\nreturn %s\n}", strings.Join(append(back, "err"), ", "))},
	}}}
}

// zero is how the zero of a type is written, or "".
func zero(t types.Type) string {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case t.Info()&types.IsNumeric != 0:
			return "0"
		case t.Info()&types.IsString != 0:
			return `""`
		case t.Info()&types.IsBoolean != 0:
			return "false"
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Chan, *types.Signature:
		return "nil"
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct{}{}"
		}
	}
	return ""
}

// fixGo makes a coroutine of a goroutine, where nothing leaves it early, it does nothing that a coroutine must not, and
// it asks for nothing that somebody would have to wait for.
func (c repairs) fixGo(f *function, g *ast.GoStmt) []analysis.SuggestedFix {
	ctx := c.contextAt(f, g.Pos())
	file := c.src.fileOf(g.Pos())
	if ctx == "" || file == nil {
		return nil
	}
	name, edits := c.importing(file, module)
	if edits != nil || name == "" {
		return nil
	}
	const form = "%s.Go(%s, func(%s %s.Context) (struct{}, error) {\n%s\nreturn struct{}{}, nil\n})"
	lit, ok := g.Call.Fun.(*ast.FuncLit)
	if ok && (effects(c).breaks(c.functions[lit]) || endings(c).works(lit.Body, 0)) {
		return nil
	}
	if !ok {
		for _, t := range c.see.targets(g.Call.Fun) {
			if len(effects(c).ofTarget(t)) > 0 || c.see.opOf(t) != "" {
				return nil
			}
		}
		for _, a := range g.Call.Args { // the go statement evaluates them at once
			if !c.src.plain(a) {
				return nil
			}
		}
		return replaced("Make it a coroutine", g, form, name, ctx, ctx, name, c.src.text(g.Call))
	}
	returns := len(g.Call.Args) > 0
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if inner, ok := n.(*ast.FuncLit); ok && inner != lit {
			return false
		}
		if _, ok := n.(*ast.ReturnStmt); ok {
			returns = true
		}
		return !returns
	})
	if returns {
		return nil
	}
	// The body stays as it is, with its comments: only what is around it changes.
	end, last := lit.Body.Rbrace, "return struct{}{}, nil\n})"
	if n := len(lit.Body.List); n > 0 && c.pass.Fset.Position(lit.Body.List[n-1].End()).Line == c.pass.Fset.Position(end).Line {
		last = "\n" + last
	}
	return []analysis.SuggestedFix{{Message: "Make it a coroutine", TextEdits: []analysis.TextEdit{
		{Pos: g.Pos(), End: lit.Body.Lbrace, NewText: fmt.Appendf(nil, "%s.Go(%s, func(%s %s.Context) (struct{}, error) ", name, ctx, ctx, name)},
		{Pos: end, End: g.End(), NewText: []byte(last)},
	}}}
}
