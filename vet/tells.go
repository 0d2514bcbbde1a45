package vet

// What is known of errors and of conditions on a way through the code that is tried.

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
)

// fails notes what of a statement fails in any case.
func (t *trial) fails(n ast.Node) {
	if t.when != cancelled {
		return
	}
	t.see.calls(n, func(call *ast.CallExpr) bool {
		if name, ok := t.failsOf(call); ok {
			t.failed = name
		}
		return true
	})
}

// failsOf names what a call asks for whose error is that of an operation.
func (t *trial) failsOf(call *ast.CallExpr) (string, bool) {
	if op := t.operation(call); op != nil {
		return called(op), lastIsError(op.Signature())
	}
	for _, to := range t.see.targets(call.Fun) {
		if t.see.opOf(to) != "" && t.passesOn(to) {
			return t.see.callName(call), true
		}
	}
	return "", false
}

// passesOn reports whether a function returns the error of an operation where the run is cancelled.
func (t *trial) passesOn(to target) bool {
	if to.lit != nil {
		return to.lit.fails
	}
	return t.see.deed(to.fn).fails
}

// errorOf is the error of a function in a cancelled run.
func (c doings) errorOf(f *function) failing {
	t := &trial{code: c.code, when: cancelled, within: f.block(), errs: map[*types.Var]failing{}}
	got, some := unsure, false
	for _, is := range t.returned(f, f.sig.Results().Len()-1) {
		if some && is != got {
			return unsure
		}
		got, some = is, true
	}
	return got
}

// returned are the errors that a function may return.
func (t *trial) returned(f *function, result int) (all []failing) {
	var walk func(list []ast.Stmt) bool
	walk = func(list []ast.Stmt) bool {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ReturnStmt:
				switch {
				case len(s.Results) == f.sig.Results().Len():
					all = append(all, t.failing(s.Results[result]))
				case len(s.Results) == 1:
					all = append(all, t.failing(s.Results[0]))
				default:
					all = append(all, t.errs[f.sig.Results().At(result)])
				}
				return false
			case *ast.BlockStmt:
				if !walk(s.List) {
					return false
				}
			case *ast.IfStmt:
				if s.Init != nil {
					t.stmt(s.Init)
				}
				is := t.truth(s.Cond)
				before := maps.Clone(t.errs)
				one, two := true, true
				if is != no {
					one = walk(s.Body.List)
				} else {
					one = false
				}
				after := t.errs
				t.errs = before
				if is == yes {
					two = false
				} else if s.Else != nil {
					two = walk([]ast.Stmt{s.Else})
				}
				switch {
				case !one && !two:
					return false
				case !two:
					t.errs = after
				case one:
					t.join(after)
				}
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				before := maps.Clone(t.errs)
				ast.Inspect(s, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.FuncLit:
						return false
					case *ast.BlockStmt:
						if n != nil {
							walk(n.List)
							t.errs = maps.Clone(before)
						}
						return false
					case *ast.CaseClause:
						walk(n.Body)
						t.errs = maps.Clone(before)
						return false
					}
					return true
				})
			default:
				if got := t.stmt(s); got&falls == 0 {
					return false
				}
			}
		}
		return true
	}
	if walk(f.block().List) && f.sig.Results().Len() == 0 {
		all = append(all, unsure)
	}
	return all
}

// failing is what is known of an error.
func (t *trial) failing(e ast.Expr) failing {
	e = ast.Unparen(e)
	if t.src.isNil(e) {
		return fine
	}
	switch e := e.(type) {
	case *ast.CallExpr:
		f := t.callee(e)
		if f != nil && f.Pkg() != nil && (f.Pkg().Path() == "fmt" && f.Name() == "Errorf" || f.Pkg().Path() == "errors" && f.Name() == "Join") {
			for _, arg := range e.Args {
				if typ := t.info.TypeOf(arg); typ != nil && isError(typ) && t.failing(arg) == gone {
					return gone
				}
			}
			return unsure
		}
		if sig, ok := typeOf(t.info, e.Fun).(*types.Signature); !ok || !lastIsError(sig) {
			return unsure
		}
		switch t.when {
		case cancelled:
			if name, ok := t.failsOf(e); ok {
				t.failed = name
				return gone
			}
		case succeeds:
			return fine
		}
	case *ast.Ident, *ast.SelectorExpr:
		v, _ := t.varOf(e).(*types.Var)
		if v == nil {
			return unsure
		}
		if is, ok := t.errs[v]; ok {
			return is
		}
		if t.isCancelled(v) {
			return gone
		}
	}
	return unsure
}

func (t *trial) isCancelled(v types.Object) bool {
	return v != nil && v.Name() == "ErrCancelled" && v.Pkg() != nil && ofLibrary(v.Pkg().Path())
}

// truth is what is known of a condition.
func (t *trial) truth(e ast.Expr) truth {
	e = ast.Unparen(e)
	if v := t.info.Types[e].Value; v != nil {
		switch v.String() {
		case "true":
			return yes
		case "false":
			return no
		}
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return t.truth(e.X).not()
		}
	case *ast.Ident:
		if v, ok := t.info.Uses[e].(*types.Var); ok {
			switch t.errs[v] {
			case isTrue:
				return yes
			case isFalse:
				return no
			}
		}
	case *ast.BinaryExpr:
		return t.binary(e)
	case *ast.CallExpr:
		return t.said(e)
	}
	return maybe
}

// integer is the value of a number that is known: a constant, or what Select has returned.
func (t *trial) integer(e ast.Expr) constant.Value {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v, ok := t.info.Uses[id].(*types.Var); ok {
			if i, ok := t.won[v]; ok {
				return constant.MakeInt64(i)
			}
		}
	}
	if v := t.info.Types[e].Value; v != nil && v.Kind() == constant.Int {
		return v
	}
	return nil
}

// compared is what is known of two numbers.
func (t *trial) compared(a ast.Expr, op token.Token, b ast.Expr) truth {
	x, y := t.integer(a), t.integer(b)
	switch {
	case x == nil || y == nil:
		return maybe
	case constant.Compare(x, op, y):
		return yes
	}
	return no
}

func (t *trial) binary(e *ast.BinaryExpr) truth {
	switch e.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if is := t.compared(e.X, e.Op, e.Y); is != maybe {
			return is
		}
	}
	switch e.Op {
	case token.LAND:
		a, b := t.truth(e.X), t.truth(e.Y)
		switch {
		case a == no || b == no:
			return no
		case a == yes && b == yes:
			return yes
		}
	case token.LOR:
		a, b := t.truth(e.X), t.truth(e.Y)
		switch {
		case a == yes || b == yes:
			return yes
		case a == no && b == no:
			return no
		}
	case token.EQL, token.NEQ:
		if typ := t.info.TypeOf(e.X); typ == nil || !isError(typ) {
			return maybe
		}
		is := maybe
		switch state := t.failing(e.X); {
		case t.src.isNil(e.Y) && state == gone:
			is = no
		case t.src.isNil(e.Y) && (state == fine || t.when == succeeds):
			is = yes
		case t.isCancelled(t.varOf(e.Y)) && state == gone:
			is = yes
		}
		if e.Op == token.NEQ {
			return is.not()
		}
		return is
	}
	return maybe
}

// said is what a function says of an error.
func (t *trial) said(call *ast.CallExpr) truth {
	f := t.callee(call)
	if f == nil || f.Pkg() == nil {
		return maybe
	}
	if f.Pkg().Path() == "errors" && f.Name() == "Is" && len(call.Args) == 2 {
		about := t.isCancelled(t.varOf(call.Args[1]))
		switch state := t.failing(call.Args[0]); {
		case state == gone && about:
			return yes
		case state == gone && t.varOf(call.Args[1]) != nil:
			return no
		case about && (state == fine || t.when == succeeds):
			return no
		}
		return maybe
	}
	if f.Pkg().Path() == "errors" && f.Name() == "As" && len(call.Args) == 2 {
		if t.failing(call.Args[0]) == gone { // it has no type of its own
			return no
		}
		return maybe
	}
	sig := f.Signature()
	if sig.Results().Len() != 1 || !isBool(sig.Results().At(0).Type()) {
		return maybe
	}
	for _, arg := range call.Args {
		if typ := t.info.TypeOf(arg); typ == nil || !isError(typ) {
			continue
		}
		state := t.failing(arg)
		if t.when == succeeds {
			state = fine
		}
		switch state {
		case gone:
			return t.see.deed(f).gone
		case fine:
			return t.see.deed(f).none
		}
		return maybe
	}
	return maybe
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// tells is what a function says whose error is of a kind.
func (t *trial) tells(f *function, state failing) truth {
	if state == unsure {
		return maybe
	}
	sub := &trial{code: t.code, when: t.when, within: f.block(), errs: map[*types.Var]failing{}}
	for p := range f.sig.Params().Variables() {
		if isError(p.Type()) {
			sub.errs[p] = state
		}
	}
	for _, s := range f.block().List {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Results) == 1 {
				return sub.truth(s.Results[0])
			}
			return maybe
		case *ast.IfStmt: // a guard
			if s.Init != nil {
				sub.stmt(s.Init)
			}
			ret, ok := ast.Stmt(nil), false
			if len(s.Body.List) == 1 {
				ret, ok = s.Body.List[0], true
			}
			r, isRet := ret.(*ast.ReturnStmt)
			switch is := sub.truth(s.Cond); {
			case is == no && s.Else == nil:
			case is == yes && ok && isRet && len(r.Results) == 1:
				return sub.truth(r.Results[0])
			default:
				return maybe
			}
		case *ast.AssignStmt:
			sub.assign(s)
		case *ast.DeclStmt:
			sub.declare(s)
		default:
			return maybe
		}
	}
	return maybe
}

// says notes what a function says of errors, and whether it returns those of operations.
func (c doings) says(f *function, d *deed) {
	t := &trial{code: c.code, when: cancelled, errs: map[*types.Var]failing{}}
	if d.op != "" && !d.fails && lastIsError(f.sig) && f.role == workflow {
		d.fails = c.errorOf(f) == gone
	}
	if r := f.sig.Results(); r.Len() == 1 && isBool(r.At(0).Type()) && has(f.sig, isError) && d.gone == maybe {
		d.gone, d.none = t.tells(f, gone), t.tells(f, fine)
	}
}

// fixed reports whether a condition is the same in each round of the loop that is tried: nothing changes what it is
// made of, and it asks nobody.
func (t *trial) fixed(e ast.Expr) bool { return t.src.unchanged(e, t.within) }

func (c source) unchanged(e ast.Expr, in ast.Node) bool {
	same := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := ast.Unparen(n.Fun).(*ast.Ident)
			same = same && ok && c.info.Types[n.Fun].IsBuiltin() && (id.Name == "len" || id.Name == "cap")
		case *ast.FuncLit, *ast.StarExpr, *ast.IndexExpr, *ast.UnaryExpr:
			if u, ok := n.(*ast.UnaryExpr); !ok || u.Op != token.NOT && u.Op != token.SUB {
				same = false
			}
		case *ast.SelectorExpr:
			if _, ok := typeOf(c.info, n.X).(*types.Pointer); ok {
				same = false
			}
		case *ast.Ident:
			v, ok := c.info.Uses[n].(*types.Var)
			if !ok || v.IsField() {
				break
			}
			if global(v) || in.Pos() <= v.Pos() && v.Pos() < in.End() {
				same = false
				break
			}
			own := c.src.enclosing(in)
			for _, w := range append(c.writes[v][:len(c.writes[v]):len(c.writes[v])], c.altered[v]...) {
				if w.byAddr || in.Pos() <= w.at.Pos() && w.at.Pos() < in.End() || c.around(w.cur) != own {
					same = false
				}
			}
		}
		return same
	})
	return same
}

// enclosing is the function that a part of the code is in.
func (c source) enclosing(n ast.Node) *function {
	cur, ok := cursorOf(c.root, n)
	if !ok {
		return nil
	}
	return c.around(cur)
}
