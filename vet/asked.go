package vet

// What the code of a workflow asks for: by which names at all, and in which order as long as nothing decides about it.

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// questions are what workflow code asks for.
type questions struct{ *code }

// asks is the fact of a function with a Context: the names that it asks for.
type asks struct {
	Names []string
	Open  bool // it asks for others, which nobody can read in the code
}

// AFact marks a fact.
func (*asks) AFact() {}

func (f *asks) String() string { return fmt.Sprintf("asks for %q", f.Names) }

// leave leaves facts of functions that others may call.
func (c questions) leave() {
	for o, f := range c.declared {
		if f.role == workflow && (o.Exported() || o.Signature().Recv() != nil) {
			if names, open := c.names(f); len(names) > 0 || open {
				c.pass.ExportObjectFact(o, &asks{slices.Sorted(slices.Values(names)), open})
			}
		}
	}
}

// names are those that a function asks for, with all that it calls; open: there are others.
func (c questions) names(f *function) (names []string, open bool) {
	seen := map[*function]bool{}
	var of func(*function)
	of = func(f *function) {
		if seen[f] {
			return
		}
		seen[f] = true
		ast.Inspect(f.block(), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				o, ok := c.info.Uses[n].(*types.Func)
				if !ok || !has(o.Signature(), isContext) && (o.Signature().Recv() == nil || !isContext(o.Signature().Recv().Type())) || o.Pkg() == nil || ofLibrary(o.Pkg().Path()) {
					return true
				}
				if g := c.declared[o.Origin()]; g != nil {
					of(g)
					return true
				}
				var fact asks
				if c.pass.ImportObjectFact(o.Origin(), &fact) {
					names, open = append(names, fact.Names...), open || fact.Open
				} else if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
					open = true
				}
			case *ast.CallExpr:
				if op := c.operation(n); op != nil {
					if i := nameOf(op); i >= 0 && i < len(n.Args) {
						name := c.src.constant(n.Args[i])
						names, open = append(names, name), open || name == ""
					}
				} else if c.callee(n) == nil && c.unknown(n) {
					open = true
				}
			}
			return true
		})
	}
	of(f)
	return names, open
}

// unknown reports whether a call is of a function value with a Context that is set elsewhere.
func (c questions) unknown(call *ast.CallExpr) bool {
	sig, ok := typeOf(c.info, call.Fun).(*types.Signature)
	if !ok || !has(sig, isContext) {
		return false
	}
	v, ok := c.varOf(call.Fun).(*types.Var)
	return !ok || v.IsField() || global(v)
}

// nameOf is the number of the parameter of an operation that is its name, or -1.
func nameOf(op *types.Func) int {
	for i := range op.Signature().Params().Len() {
		if op.Signature().Params().At(i).Name() == "name" {
			return i
		}
	}
	return -1
}

// question is one of those that a workflow asks in any case.
type question struct {
	call  *ast.CallExpr
	op    string
	kind  string // as logs call it
	name  string // "": any
	maybe []question
	over  bool // where these were asked, the function ends
}

// inOrder are the questions that a function begins with.
func (c questions) inOrder(f *function) []question {
	w := &walker{questions: c}
	w.stmts(f.block().List)
	return w.all
}

// walker goes through code as long as nothing decides where it goes.
type walker struct {
	questions
	all     []question
	stopped bool
	depth   int
}

func (w *walker) stmts(list []ast.Stmt) (returned bool) {
	for _, s := range list {
		if returned = w.stmt(s); w.stopped || returned {
			return returned
		}
	}
	return false
}

func (w *walker) stmt(s ast.Stmt) (returned bool) {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt, *ast.DeferStmt:
	case *ast.BlockStmt:
		return w.stmts(s.List)
	case *ast.LabeledStmt:
		return w.stmt(s.Stmt)
	case *ast.IfStmt:
		return w.branch(s)
	case *ast.ReturnStmt:
		w.calls(s)
		return true
	case *ast.AssignStmt, *ast.ExprStmt, *ast.DeclStmt, *ast.IncDecStmt:
		w.calls(s)
	case *ast.BranchStmt:
		w.stopped = true
	default:
		w.stopped = w.see.asks(s) != "" || w.depth > 0 && w.leaves(s)
	}
	return false
}

// branch goes on behind an if whose ways ask for nothing, and notes what Patched guards.
func (w *walker) branch(s *ast.IfStmt) (returned bool) {
	if s.Init != nil {
		w.stmt(s.Init)
	}
	if call, ok := ast.Unparen(s.Cond).(*ast.CallExpr); ok && s.Else == nil && !w.stopped {
		if op := w.operation(call); op != nil && op.Name() == "Patched" {
			sub := &walker{questions: w.questions, depth: w.depth}
			over := sub.stmts(s.Body.List)
			w.all = append(w.all, question{maybe: sub.all, over: over})
			w.stopped = sub.stopped && !over
			return false
		}
	}
	if !w.stopped {
		w.calls(s.Cond)
	}
	asks := w.see.asks(s.Body) != "" || s.Else != nil && w.see.asks(s.Else) != ""
	w.stopped = w.stopped || asks || w.depth > 0 && !w.src.aboutError(s.Cond) && w.leaves(s)
	return false
}

// leaves reports whether a part of a function may return from it.
func (w *walker) leaves(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		}
		return !found
	})
	return found
}

// calls goes through the calls of a statement, arguments first.
func (w *walker) calls(n ast.Node) {
	var stack []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if call, ok := top.(*ast.CallExpr); ok && !w.stopped {
				w.called(call)
			}
			return true
		}
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) && w.see.asks(b.Y) != "" {
			w.stopped = true
		}
		if _, lit := n.(*ast.FuncLit); lit || w.stopped {
			return false
		}
		stack = append(stack, n)
		return true
	})
}

// kinds are those of operations that are asked for once where they stand, as logs call them.
var kinds = map[string]string{
	"stepwell.Step": "closure", "stepwell.Do": "closure", "stepwell.Call": "closure", "stepwell.Exec": "closure", "stepwell.Sleep": "sleep", "stepwell.SleepUntil": "sleep",
	"EventDef.Wait": "event", "RegisteredStep.Run": "task", "ChildCall.Run": "child",
}

// silent are operations that leave nothing in a log where they stand.
var silent = map[string]bool{"stepwell.AddUndo": true, "stepwell.DropUndo": true}

func (w *walker) called(call *ast.CallExpr) {
	f := w.callee(call)
	if op := w.operation(call); op != nil {
		kind, known := kinds[called(op)]
		if !known || kind == "event" && len(call.Args) > 1 { // one with a timeout that is over asks for nothing
			w.stopped = !silent[called(op)]
			return
		}
		q := question{call: call, op: called(op), kind: kind}
		if i := nameOf(op); i >= 0 && i < len(call.Args) {
			q.name = w.src.constant(call.Args[i])
		}
		w.all = append(w.all, q)
		return
	}
	if f == nil {
		w.stopped = w.see.asked(call) != "" || w.unknown(call)
		return
	}
	if f.Pkg() == nil || ofLibrary(f.Pkg().Path()) || !has(f.Signature(), isContext) {
		return
	}
	g := w.declared[f]
	if g == nil || w.depth > 5 {
		w.stopped = true
		return
	}
	w.depth++
	w.stmts(g.block().List)
	w.depth--
}
