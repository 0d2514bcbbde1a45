// Command stepwellvet holds workflow code to the rules of docs/rules.md, by itself or as a tool of go vet:
//
//	stepwellvet ./...
//	go vet -vettool=$(which stepwellvet) ./...
//
// stepwell vet calls it.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/stepwell/stepwell/vet"
)

func main() {
	args := os.Args[1:]
	if isTool(args) {
		tool()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := vetAll(ctx, args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// isTool reports whether go vet calls: it asks for the version, for the flags, and for a package, by a file; help of a
// rule comes from the same.
func isTool(args []string) bool {
	return slices.Contains(args, "-V=full") || slices.Contains(args, "-flags") || len(args) > 0 && (args[0] == "help" || strings.HasSuffix(args[len(args)-1], ".cfg"))
}

// tool answers go vet, and ends the process.
func tool() {
	flag.Func("pure", "functions and packages that workflow code may call whatever they come to, separated by commas", func(names string) error {
		vet.Pure(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	flag.BoolVar(&vet.ListAllowed, "allowed", false, "report what //stepwell:allow allows, with the reasons")
	flag.BoolVar(&vet.ListShapes, "shapes", false, "report the shapes of what is recorded, for "+vet.ShapesFile)
	flag.String("golden", "", "any text that is another when logs in testdata/histories, or recorded shapes, have changed: go vet keeps findings for as long as its flags are the same")
	unitchecker.Main(vet.Analyzers()...)
}
