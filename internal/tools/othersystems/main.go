// Command othersystems says whether the code of a module and its tests would compile for other systems than this one. It reads types only, from the source of
// all that is imported: to vet for a system compiles all of that for it, SQLite too, which takes minutes on a new machine.
//
//	go -C internal/tools/othersystems build -o "$PWD/bin/othersystems" . && bin/othersystems windows darwin ./...
//
// It is a module of its own, so that nobody who uses Stepwell has what reads Go code.
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	systems, patterns := os.Args[1:], []string{"./..."}
	if i := slices.IndexFunc(systems, func(s string) bool { return strings.ContainsAny(s, "./") }); i >= 0 {
		systems, patterns = systems[:i], systems[i:]
	}
	bad := 0
	for _, system := range systems {
		errs, n, err := check(system, "", patterns)
		if err != nil {
			fmt.Fprintf(os.Stderr, "load packages for %s: %v\n", system, err)
			os.Exit(2)
		}
		for _, e := range errs {
			fmt.Fprintf(os.Stderr, "%s: %s\n", system, e)
		}
		fmt.Printf("types for %s: %d packages\n", system, n)
		bad += len(errs)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// check returns what does not compile in the packages of a folder ("": this one) and in their tests, and how many these are.
func check(system, dir string, patterns []string) (errs []string, n int, err error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedTypesSizes | packages.NeedModule,
		Env:   append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		Dir:   dir,
		Tests: true,
	}, patterns...)
	for _, p := range pkgs {
		for _, e := range p.Errors {
			errs = append(errs, cmp.Or(e.Pos, p.ID)+": "+e.Msg)
		}
	}
	slices.Sort(errs)
	return slices.Compact(errs), len(pkgs), err // a package is there with its tests, and without
}
