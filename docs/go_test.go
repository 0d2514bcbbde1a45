package docs_test

// The Go code of the pages, and of the package comments: all of it is compiled, by the rule that TestGo states.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wrong marks a block that must not compile: the text says so.
const wrong = "does-not-compile"

// elsewhere marks a block of the module agent, which this one does not know: agent/docs_test.go finds it in code that
// is compiled there.
const elsewhere = "agent"

// TestGo type-checks every Go block against the module as it is, and holds all of them to gofmt. The rule:
//
//   - A block that begins with "package" is a file.
//   - Declarations are a package of their own, together with what they use of the page: of its comments that begin with "<!--go", which
//     nobody sees, and of its blocks above.
//   - Other code is the body of a function with a ctx, a context.Context or a stepwell.Context. It need not use its variables.
//   - What a fragment imports is known by its name: see packages.
//   - A block of the tutorial is a part of its chapter's program, which the go command compiles: see TestTutorial.
//   - A block that shows what is wrong compiles like any other. One that is marked "go does-not-compile" must not.
//   - A block that is marked "go agent" is compiled elsewhere.
func TestGo(t *testing.T) {
	t.Parallel()
	var all []*source
	above := map[string][]*source{}
	for _, b := range append(blocks(t), packageComments(t)...) {
		if b.lang != "go" && b.lang != shared || chapterOf(b.page) > 0 {
			continue
		}
		s, err := parse(b)
		if err != nil {
			t.Errorf("%s: %v", b.at(), err)
			continue
		}
		s.above = slices.Clone(above[sharing(b.page)])
		if s.decls != nil && b.mark == "" {
			above[sharing(b.page)] = append(above[sharing(b.page)], s)
		}
		all = append(all, s)
	}
	c := newChecker(t, all)
	n := map[string]int{}
	for _, s := range all {
		if got, err := format.Source([]byte(s.code)); err != nil {
			t.Errorf("%s: %v", s.at(), err)
		} else if string(got) != s.code && s.lang == "go" {
			t.Errorf("%s: not as gofmt writes it; want\n%s", s.at(), got)
		}
		n[s.page]++
		switch faults := c.check(s); {
		case s.mark == elsewhere:
		case s.mark == wrong && faults == nil:
			t.Errorf("%s: it compiles, and the page says that it does not", s.at())
		case s.mark != wrong && s.mark != "":
			t.Errorf("%s: nobody knows the mark %q", s.at(), s.mark)
		case s.mark == "":
			for _, err := range faults {
				t.Error(err)
			}
		}
	}
	for _, page := range []string{"README.md", "docs/rules.md", "doc.go", "stepwelltest/doc.go"} {
		if n[page] < 2 {
			t.Errorf("%s: got %d Go blocks, want the page's", page, n[page])
		}
	}
	c.names(t)
}

// packageComments are the code blocks of the comments that introduce packages. They share what the README shares.
func packageComments(t *testing.T) (all []block) {
	t.Helper()
	for _, name := range []string{"doc.go", "stepwelltest/doc.go"} {
		text := read(t, name)
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		var p comment.Parser
		for _, part := range p.Parse(f.Doc.Text()).Content {
			code, ok := part.(*comment.Code)
			if !ok {
				continue
			}
			goes := code.Text
			if command, rest, _ := strings.Cut(goes, "\n"); strings.HasPrefix(command, "stepwell ") {
				goes = strings.TrimLeft(rest, "\n")
			}
			first, _, _ := strings.Cut(goes, "\n")
			above, _, _ := strings.Cut(text, "//\t"+first+"\n")
			all = append(all, block{page: name, line: strings.Count(above, "\n") + 1, lang: "go", code: goes})
		}
	}
	return all
}

// sharing is the page whose declarations a page uses.
func sharing(page string) string {
	if strings.HasSuffix(page, ".go") {
		return "README.md"
	}
	return page
}

// source is a block that was parsed: a whole file, declarations, or statements.
type source struct {
	block
	decls []decl // of a block of declarations
	uses  map[string]bool
	above []*source
	file  *ast.File // of a whole file
}

// decl is one declaration, with the names that it declares: a method declares that of its receiver.
type decl struct {
	names []string
	uses  map[string]bool
	text  string
}

// parse finds out what a block is.
func parse(b block) (*source, error) {
	s := &source{block: b}
	if strings.HasPrefix(b.code, "package ") {
		f, err := parser.ParseFile(token.NewFileSet(), b.page, b.code, parser.SkipObjectResolution)
		s.file = f
		return s, err
	}
	fset := token.NewFileSet()
	const head = "package p\n"
	f, err := parser.ParseFile(fset, "", head+b.code, parser.SkipObjectResolution)
	if err != nil {
		body, other := parser.ParseFile(fset, "", head+"func _() {\n"+b.code+"\n}", parser.SkipObjectResolution)
		if other != nil {
			return nil, fmt.Errorf("neither declarations nor statements: %w; %w", err, other)
		}
		s.uses = used(body)
		return s, nil
	}
	s.uses = used(f)
	for _, d := range f.Decls {
		offset := func(p token.Pos) int { return fset.Position(p).Offset }
		s.decls = append(s.decls, decl{names: declared(d), uses: used(d), text: (head + b.code)[offset(d.Pos()):offset(d.End())] + "\n"})
	}
	return s, nil
}

// declared are the names of a declaration.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		for name := range used(d.Recv.List[0].Type) {
			names = append(names, name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// used are all identifiers in code.
func used(n ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	return names
}

// borrowed are the declarations from above that a block uses, and that they use in turn. What was declared last counts.
func (s *source) borrowed() (all []decl) {
	used := map[string]bool{}
	for _, d := range s.decls {
		for _, name := range d.names {
			used[name] = true
		}
	}
	need := maps.Clone(s.uses)
	for again := true; again; {
		again = false
		for _, from := range slices.Backward(s.above) {
			names := map[string]bool{} // methods come from where their type does
			for _, d := range from.decls {
				if slices.ContainsFunc(d.names, func(n string) bool { return need[n] }) && !slices.ContainsFunc(d.names, func(n string) bool { return used[n] }) {
					all, again = append(all, d), true
					maps.Copy(need, d.uses)
					for _, n := range d.names {
						names[n] = true
					}
				}
			}
			maps.Copy(used, names)
		}
	}
	return all
}

// packages are those that fragments may use without saying so.
var packages = func() map[string]string {
	known := map[string]string{"rand": "math/rand/v2", "pgx": "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool"}
	for _, std := range []string{"context", "database/sql", "encoding/json", "errors", "fmt", "io", "log", "log/slog", "maps", "net/http", "os", "slices", "strings", "sync", "testing", "time"} {
		known[path.Base(std)] = std
	}
	for _, ours := range []string{"", "/acting", "/api", "/client", "/keyring", "/observe", "/operate", "/push", "/check", "/webhook", "/durable", "/queue", "/topic", "/schedule", "/blob", "/stepwelltest", "/stepwelltest/sqlitetest", "/stepwelltest/postgrestest", "/telemetry", "/world", "/world/memory", "/world/worldtest", "/world/postgres", "/world/sqlite"} {
		known[path.Base("stepwell"+ours)] = "github.com/stepwell/stepwell" + ours
	}
	return known
}()

// imports are the import declarations that code needs, on one line.
func imports(code string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", code, parser.SkipObjectResolution)
	if err != nil {
		return "" // the checker tells
	}
	paths := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] != "" {
				paths[packages[x.Name]] = true
			}
		}
		return true
	})
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintf(&b, "import %q; ", p)
	}
	return b.String()
}

// checker type-checks sources against what the go command has compiled.
type checker struct {
	fset *token.FileSet
	from types.Importer
}

// newChecker asks the go command, once, for all that any of the sources may import.
func newChecker(t *testing.T, all []*source) *checker {
	t.Helper()
	paths := map[string]bool{}
	for _, p := range packages {
		paths[p] = true
	}
	for _, s := range all {
		if s.file != nil {
			for _, spec := range s.file.Imports {
				p, _ := strconv.Unquote(spec.Path.Value)
				paths[p] = true
			}
		}
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	cmd := exec.CommandContext(t.Context(), "go", append(args, slices.Sorted(maps.Keys(paths))...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, plain(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	c := &checker{fset: token.NewFileSet()}
	c.from = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no package %q among those that fragments may use", path)
		}
		return os.Open(exports[path])
	})
	return c
}

// plain is the environment of go commands: as make check builds, most is compiled then.
func plain() []string { return append(os.Environ(), "CGO_ENABLED=0") }

// check returns what keeps a source from compiling.
func (c *checker) check(s *source) []error {
	borrowed := ""
	for _, d := range s.borrowed() {
		borrowed += d.text
	}
	line := fmt.Sprintf("\n//line %s\n", s.at())
	switch {
	case s.file != nil:
		return c.types(line + s.code)
	case s.decls != nil:
		code := line + s.code + "\n//line shared:1\n" + borrowed
		return c.types("package p; " + imports("package p\n"+code) + code)
	}
	var first []error
	for _, ctx := range []string{"context.Context", "stepwell.Context"} {
		code := "func _(ctx " + ctx + ") {" + line + s.code + "\n}\n//line shared:1\n" + borrowed
		faults := slices.DeleteFunc(c.types("package p; "+imports("package p\n"+code)+code), func(err error) bool {
			var fault types.Error
			return errors.As(err, &fault) && fault.Soft && strings.HasPrefix(fault.Msg, "declared and not used")
		})
		if len(faults) == 0 {
			return nil
		}
		if first == nil {
			first = faults
		}
	}
	return first
}

func (c *checker) types(code string) (faults []error) {
	f, err := parser.ParseFile(c.fset, "", code, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	conf := types.Config{Importer: c.from, Error: func(err error) { faults = append(faults, err) }}
	_, _ = conf.Check("example.com/docs", c.fset, []*ast.File{f}, nil) // its first error is among the faults
	return faults
}

// apiNames are names of the API where text mentions them: package or type, and what is of it.
var apiNames = regexp.MustCompile(`\b(stepwell|acting|keyring|observe|push|check|webhook|stepwelltest|app|App|Config|ForkOptions|ListFilter|Retry|StepError|RunError)\.([A-Z]\w*)`)

// names checks that what the text of the pages calls by name is there.
func (c *checker) names(t *testing.T) {
	t.Helper()
	api := map[string]*types.Package{}
	for _, name := range []string{"stepwell", "acting", "keyring", "observe", "push", "check", "webhook", "stepwelltest"} {
		p, err := c.from.Import(packages[name])
		if err != nil {
			t.Fatal(err)
		}
		api[name] = p
	}
	n := 0
	for _, page := range pages(t) {
		for _, code := range inline.FindAllString(fence.ReplaceAllString(read(t, page), ""), -1) {
			for _, m := range apiNames.FindAllStringSubmatch(code, -1) {
				n++
				if p := api[m[1]]; p != nil {
					if p.Scope().Lookup(m[2]) == nil {
						t.Errorf("%s: there is no %s in package %s", page, m[2], m[1])
					}
					continue
				}
				of := api["stepwell"].Scope().Lookup(strings.Replace(m[1], "app", "App", 1))
				if found, _, _ := types.LookupFieldOrMethod(of.Type(), true, of.Pkg(), m[2]); found == nil {
					t.Errorf("%s: there is no %s.%s", page, m[1], m[2])
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("got %d names of the API, want the documentation's", n)
	}
}
