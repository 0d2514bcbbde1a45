// Lines counts the lines of the order systems, without blank lines and comments: see docs/coming-from.md.
//
//	go -C bench run ./orders/lines
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	for _, s := range systems {
		row, err := s.row("")
		if err != nil {
			log.Fatalln(err)
		}
		fmt.Println(row)
	}
}

// system is a program, and its path in this module.
type system struct{ name, path string }

var systems = []system{
	{"Stepwell", "../examples/orders/main.go"}, {"Temporal", "orders/temporal/main.go"},
	{"DBOS", "orders/dbos/main.go"}, {"Restate", "orders/restate/main.go"},
}

// row is the system's row of the table, without what the program does not do. The module is in root.
func (s system) row(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, s.path))
	if err != nil {
		return "", err
	}
	all, parts, err := count(string(text))
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |", s.name, all, parts["imports"], parts["workflow"], parts["start, answer"], parts["main"]), err
}

// count counts all lines, and those of each part. The import of the shop is none, as Stepwell's shop is in the package itself.
func count(text string) (all int, parts map[string]int, err error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, "", text, parser.SkipObjectResolution)
	if err != nil {
		return 0, nil, err
	}
	parts = map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "//") || strings.Contains(line, "/orders/shop\"") {
			continue
		}
		all++
		for _, d := range file.Decls {
			if n := i + 1; positions.Position(d.Pos()).Line <= n && n <= positions.Position(d.End()).Line {
				parts[part(d)]++
			}
		}
	}
	return all, parts, nil
}

// part says what a declaration belongs to.
func part(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return "imports"
		}
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok && v.Names[0].Name == "definitions" {
			return "main"
		}
	case *ast.FuncDecl:
		switch d.Name.Name {
		case "main":
			return "main"
		case "start", "answer":
			return "start, answer"
		}
	}
	return "workflow"
}
