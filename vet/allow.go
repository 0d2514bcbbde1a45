package vet

// Saying no: the comments that allow what a rule forbids.

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// allowance is a comment //stepwell:allow rule reason: it holds for its line where code is before it there; else for
// its line and the one below, or for the function whose comment it is in.
type allowance struct {
	at       *ast.Comment
	rule     *rule
	name     string
	reason   string
	file     string
	from, to int // lines
	used     bool
}

type allowances struct{ all []*allowance }

const allowPrefix = "//stepwell:allow"

// ListAllowed makes the analyzer of allowances report each allowance with its reason. Set it once,
// before analyzers run.
var ListAllowed bool

// allowancesOf reads the allowances of a package.
func allowancesOf(c *code) *allowances {
	a := &allowances{}
	for _, f := range c.pass.Files {
		whole, starts := map[*ast.Comment][2]int{}, firstOfLines(c, f)
		line := func(p token.Pos) int { return c.pass.Fset.Position(p).Line }
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil {
				for _, at := range fn.Doc.List {
					whole[at] = [2]int{line(fn.Pos()), line(fn.End())}
				}
			}
		}
		for _, g := range f.Comments {
			for _, at := range g.List {
				rest, ok := strings.CutPrefix(at.Text, allowPrefix)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				rest, _, _ = strings.Cut(rest, "// want") // of test data
				name, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
				p := c.pass.Fset.Position(at.Pos())
				lines := [2]int{p.Line, line(g.End()) + 1}
				if first, ok := starts[p.Line]; ok && first < at.Pos() {
					lines[1] = p.Line
				}
				if w, ok := whole[at]; ok {
					lines = w
				}
				a.all = append(a.all, &allowance{at: at, rule: ruleNamed(name), name: name, reason: strings.TrimSpace(reason), file: p.Filename, from: lines[0], to: lines[1]})
			}
		}
	}
	return a
}

// firstOfLines are the places where code first begins or ends on the lines of a file.
func firstOfLines(c *code, f *ast.File) map[int]token.Pos {
	all := map[int]token.Pos{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		}
		for _, p := range []token.Pos{n.Pos(), n.End()} {
			if line := c.pass.Fset.Position(p).Line; p.IsValid() && (!all[line].IsValid() || p < all[line]) {
				all[line] = p
			}
		}
		return true
	})
	return all
}

// allows reports whether a rule may be broken at a line, and notes that the allowance is of use.
func (a *allowances) allows(r *rule, p token.Position) bool {
	for _, x := range a.all {
		if x.rule == r && x.reason != "" && x.file == p.Filename && x.from <= p.Line && p.Line <= x.to {
			x.used = true
			return true
		}
	}
	return false
}

// unused reports allowances that allow nothing, and those that do not say what or why.
func (a *allowances) unused(c *code) {
	for _, x := range a.all {
		message := ""
		switch {
		case x.name == "":
			message = "an allowance of nothing; write //stepwell:allow rule reason"
		case x.rule == nil || x.rule == ruleAllow:
			message = fmt.Sprintf("an allowance of %q, which is not a rule", x.name)
		case x.reason == "":
			message = fmt.Sprintf("an allowance of %s without a reason, which does not count; write //stepwell:allow %s reason", x.name, x.name)
		case ListAllowed:
			message = fmt.Sprintf("allowed: %s: %s", x.name, x.reason)
		case !x.used:
			message = fmt.Sprintf("nothing here breaks the rule %s: remove the allowance", x.name)
		default:
			continue
		}
		c.found[ruleAllow.name] = append(c.found[ruleAllow.name], analysis.Diagnostic{Pos: x.at.Pos(), End: x.at.End(), Category: ruleAllow.name, Message: message + ruleAllow.see()})
	}
}
