package lint

// This file keeps large objects from growing: those that have many methods or fields are listed with what they may have.

import (
	"cmp"
	"fmt"
	"go/ast"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// size is how many methods an object has, and how many fields. What it gets by embedding types of its package counts:
// they are its methods for all who read it.
type size struct{ methods, fields int }

// roomy is what every struct may have.
var roomy = size{methods: 45, fields: 30}

// large are the structs for which something else holds, by package and name. A number here may be made smaller. Who makes one larger
// says why a part of the object cannot own what comes.
var large = map[string]size{
	".App":                    {methods: 75},             // what an application calls
	".Why":                    {fields: 38},              // what there is to say of a run; its JSON is flat
	"internal/engine.Engine":  {methods: 94, fields: 32}, // one of each counts for all processes
	"internal/replay.Ctx":     {methods: 47},             // all that workflow code can ask for
	"internal/replay.Machine": {methods: 101, fields: 48},
	"server/ui.UI":            {methods: 58},
	"world/journal.Journal":   {fields: 31},              // what a run gathers is one
	"world.Event":             {fields: 34},              // who listens, what ends that, what is apart, places
	"world/memory.World":      {methods: 96, fields: 33}, // an ability is a method of the world itself, here and below
	"world/memory.run":        {fields: 43},              // its places are one
	"world/postgres.World":    {methods: 118},            // to read, to keep house, and for a caller's transactions
	"world/postgres.sheet":    {fields: 34},              // one is of rows of one kind
	"world/remote.World":      {methods: 56},             // each kind of thing is an object of its own; Abilities
	"world/sqlite.World":      {methods: 69},
	"world/sqlite.group":      {methods: 37, fields: 17}, // less than others: what it had is its parts' now

	// The same holds of a session and its parts.
	"internal/engine.session":    {methods: 45, fields: 20},
	"internal/engine.course":     {methods: 30, fields: 15},
	"internal/engine.evaluation": {methods: 30, fields: 15},
	"internal/engine.steps":      {methods: 30, fields: 15},
	"internal/engine.bodies":     {methods: 30, fields: 15},
	"internal/engine.turn":       {methods: 30, fields: 15},
}

// unsized are packages of tests.
var unsized = []string{"world/worldtest", "internal/pgtest"}

func TestSizes(t *testing.T) {
	byDir := map[string][]*source{}
	for _, s := range sources(t) {
		if !s.test && !slices.Contains(unsized, s.dir) {
			byDir[s.dir] = append(byDir[s.dir], s)
		}
	}
	for dir, files := range byDir {
		for _, fault := range sizeRule(files, dir+".") {
			t.Error(fault)
		}
	}
}

// sizeRule finds the structs of a package that are larger than they may be.
func sizeRule(files []*source, pkg string) (faults []string) {
	for name, is := range sizesOf(files) {
		may := large[pkg+name]
		if most := cmp.Or(may.methods, roomy.methods); is.methods > most {
			faults = append(faults, fmt.Sprintf("%s%s has %d methods, with those of what it embeds, and may have %d: give them to parts", pkg, name, is.methods, most))
		}
		if most := cmp.Or(may.fields, roomy.fields); is.fields > most {
			faults = append(faults, fmt.Sprintf("%s%s has %d fields, and may have %d: give them to parts", pkg, name, is.fields, most))
		}
	}
	return faults
}

func TestSizeRule(t *testing.T) {
	src := "package p\ntype whole struct { *part; small }\ntype part struct { small }\ntype small struct{ a, b int }\nfunc (*small) f() {}\n"
	for i := range roomy.methods {
		src += fmt.Sprintf("func (p *part) f%d() {}\n", i)
	}
	files := []*source{mustParse(t, "p/p.go", src)}
	sizes := sizesOf(files)
	if want := (size{methods: roomy.methods + 1, fields: 2}); sizes["whole"] != want {
		t.Errorf("a whole that embeds: got %v, want %v: a method that it has twice counts once", sizes["whole"], want)
	}
	if got := sizeRule(files, "p."); len(got) != 2 {
		t.Errorf("got %q, want one fault for the part and one for the whole", got)
	}
}

// sizesOf are the sizes of the structs of a package.
func sizesOf(files []*source) map[string]size {
	structs := map[string]*ast.StructType{}
	methods := map[string]map[string]bool{}
	for _, s := range files {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						if st, ok := spec.Type.(*ast.StructType); ok {
							structs[spec.Name.Name] = st
						}
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil {
					continue
				}
				of := nameOf(d.Recv.List[0].Type)
				if methods[of] == nil {
					methods[of] = map[string]bool{}
				}
				methods[of][d.Name.Name] = true
			}
		}
	}
	sizes := map[string]size{}
	for name, st := range structs {
		all := map[string]bool{}
		var add func(name string, seen []string)
		add = func(name string, seen []string) {
			for m := range methods[name] {
				all[m] = true
			}
			if structs[name] == nil || slices.Contains(seen, name) {
				return
			}
			for _, f := range structs[name].Fields.List {
				if len(f.Names) == 0 {
					add(nameOf(f.Type), append(seen, name))
				}
			}
		}
		add(name, nil)
		is := size{methods: len(all)}
		for _, f := range st.Fields.List {
			is.fields += max(1, len(f.Names))
		}
		sizes[name] = is
	}
	return sizes
}

// nameOf is the name of a type of this package, "" where it is another's.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.IndexExpr:
		return nameOf(e.X)
	case *ast.IndexListExpr:
		return nameOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestNoLargeFile: what is larger than any source was built, and committed by mistake.
func TestNoLargeFile(t *testing.T) {
	const most = 512 << 10
	out, err := exec.Command("git", "-C", "../..", "ls-tree", "-r", "--format=%(objectsize) %(path)", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		size, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(size); err != nil || n > most {
			t.Errorf("%s has %s bytes (%v), and may have %d", path, size, err, most)
		}
	}
}
