package lint

// This file holds the rule for SQL: one statement, one file, embedded and used.

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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

// alone reports whether the variable holds this file and no other. Migrations are walked in order, so nobody names them.
func (e *embed) alone(file string) bool {
	return len(e.patterns) == 1 && e.patterns[0] == file || path.Base(path.Dir(file)) == "migrations"
}

// named reports whether the product's files of a package name a file in a string: insert_run, insert_run.sql or sql/insert_run.sql.
func named(list []*source, dir, file string) (found bool) {
	name := strings.TrimSuffix(path.Base(file), ".sql")
	for _, s := range list {
		if s.dir != dir || s.test {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text := strings.Trim(lit.Value, "\"`")
				found = found || strings.TrimSuffix(path.Base(text), ".sql") == name
			}
			return true
		})
	}
	return found
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
	err := walk(".sql", func(p string) error {
		found := false
		for _, e := range all {
			if e.holds(p) {
				found = true
				if uses(list, e.src.dir, e.name) < 2 || !e.alone(p) && !named(list, e.src.dir, p) {
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
		if err == nil && columnsOfRun.Match(text) && path.Base(p) != "schema.sql" && path.Base(path.Dir(p)) != "migrations" {
			t.Errorf("%s: names the columns of a run, which stand in run_row.go: want {run} or {birth}", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEmbeds(t *testing.T) {
	s := mustParse(t, "world/x/a.go", "package x\n//go:embed sql/take.sql\nvar takeSQL string\n\n//go:embed migrations\nvar m embed.FS\nvar _ = takeSQL\n")
	list := embeds(s)
	if len(list) != 2 {
		t.Fatalf("got %d, want 2", len(list))
	}
	for file, want := range map[string]bool{"world/x/sql/take.sql": true, "world/x/sql/other.sql": false, "world/x/migrations/1.sql": true, "world/y/sql/take.sql": false} {
		if got := list[0].holds(file) || list[1].holds(file); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
	if got, want := uses([]*source{s}, "world/x", "takeSQL"), 2; got != want {
		t.Errorf("got %d uses, want %d", got, want)
	}
	for file, want := range map[string]bool{"world/x/sql/take.sql": true, "world/x/sql/other.sql": false} {
		loads := mustParse(t, "world/x/b.go", "package x\nvar _ = load(\"take\")\n")
		if got := named([]*source{loads}, "world/x", file); got != want {
			t.Errorf("%s named: got %v, want %v", file, got, want)
		}
	}
	if got, want := uses([]*source{s}, "world/x", "m"), 1; got != want {
		t.Errorf("got %d uses, want %d", got, want)
	}
}
