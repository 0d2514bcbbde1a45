package vet

// What is Stepwell's own, and what its functions do with the functions that they are given.

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

const module = "github.com/stepwell/stepwell"

// dialect is the library whose workflow code is read. It is Stepwell; that a test has others is for the count of false
// alarms in code that other people wrote.
type dialect struct {
	library func(path string) bool
	context func(t types.Type) bool
	names   map[string]string // of operations: what Stepwell calls the same
	bodies  map[string]bool   // operations that run what they are given once, whatever it looks like
	memory  map[string]bool   // generic functions whose values stay in memory
}

var speaks = dialect{
	library: ofStepwell,
	context: func(t types.Type) bool { return isNamed(t, module, "Context") },
	memory:  map[string]bool{"Go": true, "All": true, "Race": true, "Map": true, "MapSettled": true, "Each": true, "Failed": true, "HookPayload": true},
}

// said is the name of an operation.
func said(op *types.Func) string {
	if name, ok := speaks.names[op.Name()]; ok {
		return name
	}
	return op.Name()
}

// apart are the parts of the module that are programs and tests of it, and use it as others do.
var apart = []string{"bench", "cmd", "docs", "examples", "internal/answers", "internal/behaviour", "internal/cli", "internal/crypttest", "internal/demo", "internal/forktest", "internal/soak", "internal/tools", "vet"}

// ofLibrary reports whether a package is of what authors call, or of what works below that.
func ofLibrary(path string) bool { return speaks.library(path) }

func ofStepwell(path string) bool {
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return false
	}
	if rest == "" {
		return true
	}
	rest, ok = strings.CutPrefix(rest, "/")
	return ok && !strings.HasSuffix(path, "_test") && !slices.ContainsFunc(apart, func(dir string) bool { return rest == dir || strings.HasPrefix(rest, dir+"/") })
}

// isContext reports whether a type is stepwell.Context.
func isContext(t types.Type) bool { return speaks.context(t) }

// isStdContext reports whether a type is context.Context.
func isStdContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

// has reports whether one of the parameters has a type.
func has(sig *types.Signature, is func(types.Type) bool) bool {
	for v := range sig.Params().Variables() {
		if is(v.Type()) {
			return true
		}
	}
	return false
}

// source is how code is written.
type source struct{ *code }

// callee is the function of a call as it was declared, or nil: a function value, a builtin, a conversion.
func (c *code) callee(call *ast.CallExpr) *types.Func {
	if f, ok := typeutil.Callee(c.info, call).(*types.Func); ok {
		return f.Origin()
	}
	return nil
}

// operation is the function of Stepwell that a call asks something of with the workflow's Context; nil: it is none.
func (c *code) operation(call *ast.CallExpr) *types.Func {
	f := c.callee(call)
	if f == nil || f.Pkg() == nil || !ofLibrary(f.Pkg().Path()) || !has(f.Signature(), isContext) {
		return nil
	}
	switch said(f) {
	case "CancelCause", "WithCancel", "Of":
		return nil // they record nothing
	}
	return f
}

// called is a function's name for messages: Step, (*Hook).Wait, rand.IntN.
func called(f *types.Func) string {
	if recv := f.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name() + "." + f.Name()
		}
		return f.Name()
	}
	if f.Pkg() == nil {
		return f.Name()
	}
	return f.Pkg().Name() + "." + f.Name()
}
