package vet

// The workflows that Define is given.

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// entryPoint is a workflow's definition.
type entryPoint struct {
	call    *ast.CallExpr
	name    string // "": it is made as the program runs
	version int    // 0: that too
}

// defined finds the functions that Define is given.
func (c finder) defined() {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		f := c.callee(call)
		if f == nil || f.Pkg() == nil || f.Pkg().Path() != module || f.Name() != "Define" || len(call.Args) < 2 {
			continue
		}
		if g := c.src.functionOf(call.Args[1]); g != nil {
			c.entries[g] = &entryPoint{call: call, name: c.src.constant(call.Args[0]), version: c.src.versionOf(call)}
		}
	}
}

// functionOf is the function of this package that an expression names or is, or nil.
func (c source) functionOf(e ast.Expr) *function {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return c.functions[e]
	case *ast.IndexExpr:
		return c.src.functionOf(e.X)
	case *ast.Ident, *ast.SelectorExpr:
		if o, ok := c.varOf(e).(*types.Func); ok {
			return c.declared[o.Origin()]
		}
	}
	return nil
}

// constant is the text that an expression always is, or "".
func (c source) constant(e ast.Expr) string {
	if v := c.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// versionOf is the version that Define is given; 0: the program chooses it.
func (c source) versionOf(call *ast.CallExpr) int {
	version := 1
	for _, arg := range call.Args[2:] {
		opt, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok {
			return 0
		}
		if f := c.callee(opt); f == nil || f.Name() != "Version" || len(opt.Args) != 1 {
			continue
		}
		v := c.info.Types[opt.Args[0]].Value
		if v == nil {
			return 0
		}
		n, _ := constant.Int64Val(v)
		version = int(n)
	}
	return version
}
