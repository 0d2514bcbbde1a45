package vet

// A package as it is read: what is known of it, and what is reported.

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/objectpath"
)

// code is what is known of a package while it is read.
type code struct {
	pass      *analysis.Pass
	info      *types.Info
	root      inspector.Cursor
	functions map[ast.Node]*function
	order     []*function
	owned     map[*types.Func]bool // those that use a Context that something has which they are given
	declared  map[*types.Func]*function
	values    map[*types.Var][]ast.Expr          // what variables of function types are set to, or hold
	sets      map[*types.Var][]ast.Expr          // what other variables are set to
	uses      map[*types.Var][]inspector.Cursor  // of variables
	named     map[*types.Func][]inspector.Cursor // of functions of this package
	starting  map[*function]bool                 // what atStart has said
	writes    map[*types.Var][]write
	allow     *allowances
	found     findings
	fits      map[*types.Func][]*types.Func // methods that calls of interfaces may come to
	entries   map[*function]*entryPoint     // what Define has been given
	alias     map[*types.Var]*types.Var     // what a pointer, slice or map is a part of
	altered   map[*types.Var][]write        // what functions change that get a pointer to it
	deeds     map[*types.Func]*deed         // what functions are to those who call them
	runs      map[*types.Var]role           // what becomes of the functions that parameters are

	once memo   // what is looked for once
	see  sight  // what calls come to
	src  source // how it is written
}

// memo is what is looked for once.
type memo struct {
	known    bool                                 // all functions are found
	targeted map[*types.Var]*held                 // once they are: what variables hold
	places   map[ast.Expr]place                   // where functions are that variables hold
	rings    map[*types.Func]map[*types.Func]bool // the functions that call each other, by each; nil: not yet found
	holding  holdings
	common   map[*types.TypeName]bool // structs that runs have in common; nil: not yet found
	paths    objectpath.Encoder       // of objects in their packages
	names    map[types.Object]string  // what wiring calls them
	callers  map[string]caller        // workflow code of other packages, by what it calls; nil: not yet read
}

// read is the analyzer that the rules share.
func read(pass *analysis.Pass) (any, error) {
	path := pass.Pkg.Path()
	if ofLibrary(path) || standard(pass) {
		return findings{}, nil
	}
	c := &code{pass: pass, info: pass.TypesInfo, root: pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), found: findings{}, functions: map[ast.Node]*function{}, owned: map[*types.Func]bool{}, declared: map[*types.Func]*function{},
		values: map[*types.Var][]ast.Expr{}, sets: map[*types.Var][]ast.Expr{}, uses: map[*types.Var][]inspector.Cursor{}, named: map[*types.Func][]inspector.Cursor{}, starting: map[*function]bool{}, writes: map[*types.Var][]write{}, fits: map[*types.Func][]*types.Func{},
		entries: map[*function]*entryPoint{}, alias: map[*types.Var]*types.Var{}, altered: map[*types.Var][]write{},
		deeds: map[*types.Func]*deed{}, runs: map[*types.Var]role{}, once: memo{names: map[types.Object]string{}, holding: holdings{}, targeted: map[*types.Var]*held{}, places: map[ast.Expr]place{}}}
	c.see, c.src = sight{c}, source{c}
	c.allow = allowancesOf(c)
	finder{c}.variables()
	finder{c}.find()
	c.once.known = true
	finder{c}.defined()
	if c.ours() {
		alterations{c}.find()
		doings{c}.find()
	}
	variables{c}.leave()
	for _, f := range c.order {
		effects{c}.look(f)
	}
	effects{c}.settle()
	effects{c}.tell()
	wiring{c}.find()
	if c.importsLibrary() {
		c.judge()
	}
	c.allow.unused(c)
	for _, all := range c.found { // some are found in the order of a map
		slices.SortStableFunc(all, func(a, b analysis.Diagnostic) int { return cmp.Compare(a.Pos, b.Pos) })
	}
	return c.found, nil
}

// standard reports whether a package is of the standard library, whose functions are known by name.
func standard(pass *analysis.Pass) bool {
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return !strings.Contains(first, ".") && first != "command-line-arguments" && (pass.Module == nil || pass.Module.Path == "" || pass.Module.Path == "std")
}

// ours reports whether the package is of a module that is worked on: some facts stay in it.
func (c *code) ours() bool { return c.pass.Module == nil || c.pass.Module.Version == "" }

// settle goes through functions until none has anything more to say: backwards and forwards in turn, as what calls
// stands before what it calls, or behind it, in most of a file.
func settle(all []*function, more func(*function) bool) {
	for again, back := true, false; again; back = !back {
		again = false
		for i := range all {
			if back {
				i = len(all) - 1 - i
			}
			again = more(all[i]) || again
		}
	}
}

// cursorOf is the cursor of a node: by its position, as a package may have a million of them.
func cursorOf(root inspector.Cursor, n ast.Node) (inspector.Cursor, bool) {
	cur, ok := root.FindByPos(n.Pos(), n.End())
	for ok && cur.Node() != n {
		if cur = cur.Parent(); !cur.Valid() || cur.Node() == nil || cur.Node().Pos() < n.Pos() || n.End() < cur.Node().End() {
			return inspector.Cursor{}, false
		}
	}
	return cur, ok
}

// declaredBy is the function that a declaration declares.
func declaredBy(info *types.Info, f *function) *types.Func {
	o, _ := info.Defs[f.decl.Name].(*types.Func)
	return o
}

// importsLibrary reports whether the package may have workflow code.
func (c *code) importsLibrary() bool {
	for _, p := range c.pass.Pkg.Imports() {
		if ofLibrary(p.Path()) {
			return true
		}
	}
	return false
}

// report notes a finding, unless its line says that it is allowed.
func (c *code) report(r *rule, at ast.Node, message string, fixes ...analysis.SuggestedFix) {
	if c.allow.allows(r, c.pass.Fset.Position(at.Pos())) {
		return
	}
	c.found[r.name] = append(c.found[r.name], analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(), Category: r.name, Message: message + r.see(), URL: page + "#" + r.anchor, SuggestedFixes: fixes,
	})
}
