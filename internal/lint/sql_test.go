package lint

// This file holds the rules for SQL: files are embedded; statements in them open with what they promise, and are used.

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/sqlfile"
)

// embed is one variable that a go:embed directive fills.
type embed struct {
	src      *source
	name     string
	patterns []string // from the module's root
}

// embeds lists the embedded variables of a file.
func embeds(s *source) (list []embed) {
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			e := embed{src: s, name: v.Names[0].Name}
			for _, doc := range []*ast.CommentGroup{g.Doc, v.Doc} {
				if doc == nil {
					continue
				}
				for _, c := range doc.List {
					if args, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
						for _, p := range strings.Fields(args) {
							e.patterns = append(e.patterns, path.Join(s.dir, strings.Trim(p, "\"`")))
						}
					}
				}
			}
			if len(e.patterns) > 0 {
				list = append(list, e)
			}
		}
	}
	return list
}

// holds reports whether a variable has the file in it.
func (e *embed) holds(file string) bool {
	for _, p := range e.patterns {
		if ok, _ := path.Match(p, file); ok || strings.HasPrefix(file, p+"/") {
			return true
		}
	}
	return false
}

// uses counts where the product's files of a package name a variable.
func uses(list []*source, dir, name string) (n int) {
	for _, s := range list {
		if s.dir != dir || s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if id, ok := node.(*ast.Ident); ok && id.Name == name {
				n++
			}
			return true
		})
	}
	return n
}

// loaded are the names that the product's files of a package give to load.
func loaded(list []*source, dir string) map[string]bool {
	names := map[string]bool{}
	for _, s := range list {
		if s.dir != dir || s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			f, ok := call.Fun.(*ast.Ident)
			lit, is := call.Args[0].(*ast.BasicLit)
			if ok && is && f.Name == "load" && lit.Kind == token.STRING {
				names[strings.Trim(lit.Value, "\"`")] = true
			}
			return true
		})
	}
	return names
}

// statementsIn checks the statements of a package's folder sql, which stand in files by topic.
func statementsIn(t *testing.T, list []*source, dir string) {
	statements, err := sqlfile.Read(os.DirFS(filepath.Join(root, dir)), "sql")
	if err != nil {
		t.Errorf("%s: %v", dir, err)
	}
	used := loaded(list, dir)
	for name, text := range statements {
		if !used[name] {
			t.Errorf("%s: the statement %s is not used", dir, name)
		}
		if !strings.HasPrefix(text, "--") {
			t.Errorf("%s: the statement %s does not open with what it promises", dir, name)
		}
		if columnsOfRun.MatchString(text) {
			t.Errorf("%s: the statement %s names the columns of a run, which stand in run_row.go: want {run} or {birth}", dir, name)
		}
	}
}

// columnsOfRun finds lists of all that is read of a run, by its output, and of all that it is created with.
var columnsOfRun = regexp.MustCompile(`\br\.output\b|INSERT INTO (\{schema\}\.)?runs \(\w`)

func TestColumnsOfRun(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT r.key, r.output FROM runs r":                    true,
		"INSERT INTO {schema}.runs (key, id) VALUES ($1, $2)":   true,
		"SELECT {run} FROM runs r {beside}":                     false,
		"INSERT INTO runs ({birth}) VALUES ({values})":          false,
		"UPDATE {schema}.runs r SET output = a.output FROM b a": false,
	} {
		if got := columnsOfRun.MatchString(text); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestSQL(t *testing.T) {
	list := sources(t)
	var all []embed
	for _, s := range list {
		if !s.test {
			all = append(all, embeds(s)...)
		}
	}
	topics := map[string]bool{} // packages whose statements stand in files by topic, in the folder sql
	err := walk(".sql", func(p string) error {
		if path.Base(path.Dir(p)) == "sql" {
			topics[path.Dir(path.Dir(p))] = true
		}
		found := false
		for _, e := range all {
			if e.holds(p) {
				found = true
				if uses(list, e.src.dir, e.name) < 2 {
					t.Errorf("%s: embedded in %s, and nobody uses it", p, e.name)
				}
			}
		}
		if !found {
			t.Errorf("%s: no go:embed names it", p)
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err == nil && !strings.HasPrefix(strings.TrimSpace(string(text)), "--") {
			t.Errorf("%s: does not open with what it promises", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for dir := range topics {
		statementsIn(t, list, dir)
	}
}

func TestEmbeds(t *testing.T) {
	s := mustParse(t, "world/x/a.go", "package x\n//go:embed sql/take.sql\nvar takeSQL string\n\n//go:embed texts\nvar m embed.FS\nvar _ = takeSQL\n")
	list := embeds(s)
	if len(list) != 2 {
		t.Fatalf("got %d, want 2", len(list))
	}
	for file, want := range map[string]bool{"world/x/sql/take.sql": true, "world/x/sql/other.sql": false, "world/x/texts/1.sql": true, "world/y/sql/take.sql": false} {
		if got := list[0].holds(file) || list[1].holds(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
	if got, want := uses([]*source{s}, "world/x", "takeSQL"), 2; got != want {
		t.Errorf("got %d uses, want %d", got, want)
	}
	loads := []*source{mustParse(t, "world/x/b.go", "package x\nvar _ = load(\"take\")\nvar _ = lord(\"give\")\n")}
	if got := loaded(loads, "world/x"); len(got) != 1 || !got["take"] || len(loaded(loads, "world/y")) != 0 {
		t.Errorf("got %v loaded, want take alone", got)
	}
	if got, want := uses([]*source{s}, "world/x", "m"), 1; got != want {
		t.Errorf("got %d uses, want %d", got, want)
	}
}
