package vet

// Packages of tests, read without building them.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// finding is one, with the places in its file that its repair changes.
type finding struct {
	analysis.Diagnostic
	offset int
	edits  []edit // of the repair, if it has one
}

// edit is a part of a file, and what it becomes.
type edit struct {
	from, to int
	text     []byte
}

// alone finds what is wrong in files, those of a folder being a package: they import packages that are built already,
// and none of the others.
func alone(t *testing.T, dir string, texts map[string]string) map[string][]finding {
	t.Helper()
	fset := token.NewFileSet()
	folders, paths := map[string][]*ast.File{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f, err := parser.ParseFile(fset, name, texts[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v\n%s", err, texts[name])
		}
		folders[filepath.Dir(name)] = append(folders[filepath.Dir(name)], f)
		for _, spec := range f.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path != "unsafe" {
				paths[path] = true
			}
		}
	}
	from := importing(t, dir, fset, slices.Sorted(maps.Keys(paths)))
	var all []*packages.Package
	for folder, files := range folders {
		info := &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
			Instances: map[*ast.Ident]types.Instance{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
		}
		conf := types.Config{Importer: from, GoVersion: "go1.26"}
		path, _ := filepath.Rel(dir, folder)
		path = "example.com/vet/" + filepath.ToSlash(path)
		pkg, err := conf.Check(path, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, fset.Position(f.FileStart).Filename)
		}
		all = append(all, &packages.Package{
			ID: path, PkgPath: path, Name: pkg.Name(), GoFiles: names, CompiledGoFiles: names, Fset: fset, Types: pkg, TypesInfo: info, TypesSizes: types.SizesFor("gc", runtime.GOARCH),
			Syntax: files, Module: &packages.Module{Path: "example.com/vet"},
		})
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{suiteOf}, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]finding{}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		for _, d := range act.Diagnostics {
			one := finding{Diagnostic: d, offset: fset.Position(d.Pos).Offset}
			for _, fix := range d.SuggestedFixes[:min(1, len(d.SuggestedFixes))] {
				for _, e := range fix.TextEdits {
					one.edits = append(one.edits, edit{fset.Position(e.Pos).Offset, fset.Position(e.End).Offset, e.NewText})
				}
			}
			name := fset.Position(d.Pos).Filename
			found[name] = append(found[name], one)
		}
	}
	return found
}

// importing imports what is built already.
func importing(t *testing.T, dir string, fset *token.FileSet, paths []string) types.Importer {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, paths...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	built := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		built[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if built[path] == "" {
			return nil, fmt.Errorf("nobody has built %s", path)
		}
		return os.Open(built[path])
	})
}
