// Command api compares the Go API of this checkout with that of the last release, and prints what does not go together.
//
//	go -C internal/tools/release run ./api            compares; fails where what is found differs from testdata/incompatible.golden
//	go -C internal/tools/release run ./api -accept    writes what is found there, for a change that is meant to break callers
//	go -C internal/tools/release run ./api -release   makes this checkout's API the one to compare with
//
// The API of the release is export data in testdata/api.zst, as a clone in CI may have no history. See docs/compatibility.md.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

const (
	module   = "github.com/stepwell/stepwell"
	root     = "../../.."
	released = "testdata/api.zst"
	accepted = "testdata/incompatible.golden"
)

func main() {
	accept := flag.Bool("accept", false, "write what is found to "+accepted)
	release := flag.Bool("release", false, "write the API of this checkout to "+released)
	flag.Parse()
	if err := run(*accept, *release); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(accept, release bool) error {
	fset := token.NewFileSet()
	now, err := load(fset)
	if err != nil {
		return err
	}
	if release {
		if err := write(fset, now); err != nil {
			return err
		}
	}
	then, err := read()
	if err != nil {
		return err
	}
	found := incompatible(then, now)
	if accept || release {
		return os.WriteFile(accepted, []byte(found), 0o644)
	}
	want, err := os.ReadFile(accepted)
	if err != nil {
		return err
	}
	if found != strings.ReplaceAll(string(want), "\r\n", "\n") {
		return fmt.Errorf("the API differs from that of the last release in other ways than %s says. Callers no longer compile after:\n\n%s\n"+
			"Keep what was there. Where the change must break callers, say so in CHANGELOG.md and run make api-accept", accepted, found)
	}
	return nil
}

// load returns the packages that others may import.
func load(fset *token.FileSet) (public []*types.Package, err error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.LoadTypes, Dir: root, Fset: fset}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		within := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, module), "/")
		first, _, _ := strings.Cut(within, "/")
		if p.Name != "main" && first != "internal" && first != "examples" && first != "docs" && !strings.Contains(within, "/internal/") {
			public = append(public, p.Types)
		}
	}
	if len(public) < 10 {
		return nil, fmt.Errorf("got %d packages, want those of the module", len(public))
	}
	return public, nil
}

// write keeps the packages' export data in one bundle, where what they share stands once. Newer golang.org/x/tools no longer write bundles: go.mod has the
// last that does.
func write(fset *token.FileSet, pkgs []*types.Package) error {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	if err := gcexportdata.WriteBundle(z, fset, pkgs); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(released, out.Bytes(), 0o644)
}

func read() ([]*types.Package, error) {
	packed, err := os.Open(released)
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	z, err := zstd.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", released, err)
	}
	defer z.Close()
	return gcexportdata.ReadBundle(z, token.NewFileSet(), map[string]*types.Package{})
}

// incompatible is a line for each difference that keeps a caller from compiling.
func incompatible(then, now []*types.Package) string {
	report := apidiff.ModuleChanges(&apidiff.Module{Path: module, Packages: then}, &apidiff.Module{Path: module, Packages: now})
	var lines []string
	for _, c := range report.Changes {
		if !c.Compatible {
			lines = append(lines, c.Message+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}
