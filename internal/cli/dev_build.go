package cli

// This file reads go run as the program of stepwell dev, builds it here, and finds the files that it consists of.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// devProgram is what the programmer wants to run.
type devProgram struct {
	args []string // of the program
	in   string   // the folder that it runs in; "": this one
	dir  string   // for what is built

	path     string   // of a program that is not built here
	flags    []string // of go build
	packages []string // one, or files
	n        int      // of builds
}

// Flags of go run that have a value; and those that make it something that is not built here.
var (
	buildValues = []string{"C", "p", "asmflags", "buildmode", "compiler", "covermode", "coverpkg", "gccgoflags", "gcflags", "installsuffix", "ldflags", "mod", "modfile", "overlay", "pgo", "pkgdir", "tags", "toolexec"}
	runValues   = []string{"exec", "n", "x", "work", "json"}
)

// newDevProgram reads a command line.
func newDevProgram(words []string) *devProgram {
	plain := &devProgram{path: words[0], args: words[1:]}
	if name := strings.TrimSuffix(filepath.Base(words[0]), ".exe"); name != "go" || len(words) < 3 || words[1] != "run" {
		return plain
	}
	p, rest := &devProgram{}, words[2:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		flag, value, has := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
		if slices.Contains(runValues, flag) {
			return plain
		}
		n := 1
		if slices.Contains(buildValues, flag) && !has {
			if n = 2; len(rest) < 2 {
				return plain
			}
			value = rest[1]
		}
		if flag == "C" {
			p.in = value
		}
		p.flags, rest = append(p.flags, rest[:n]...), rest[n:]
	}
	n := 0
	for n < len(rest) && strings.HasSuffix(rest[n], ".go") {
		n++
	}
	n = max(n, 1)
	if len(rest) == 0 || strings.Contains(rest[0], "@") { // nothing; or somebody else's, which does not change
		return plain
	}
	p.packages, p.args = rest[:n], rest[n:]
	return p
}

func (p *devProgram) builds() bool { return p.packages != nil }

// build builds the program and returns its path, and a name for what was built. What is wrong is written to errs.
func (p *devProgram) build(ctx context.Context, errs *devLines) (path, build string, err error) {
	if !p.builds() {
		return p.path, "", nil
	}
	p.n++
	name := "app" + strconv.Itoa(p.n)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path = filepath.Join(p.dir, name)
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, p.flags, []string{"-o", path}, p.packages)...)
	cmd.Stdout, cmd.Stderr = errs, errs
	apart(cmd)
	cmd.WaitDelay, cmd.Cancel = devPipes, func() error { killGroup(cmd.Process); return nil }
	err = cmd.Run()
	errs.flush()
	if err != nil {
		return "", "", fmt.Errorf("go build: %w", err)
	}
	if build, err = hashOf(path); err != nil {
		return "", "", fmt.Errorf("%s is not a program: %w", strings.Join(p.packages, " "), err)
	}
	if old, err := filepath.Glob(filepath.Join(p.dir, "app*")); err == nil {
		for _, f := range old {
			if f != path {
				_ = os.Remove(f) // Windows keeps what runs; it goes with the folder
			}
		}
	}
	return path, "dev-" + build[:8], nil
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// devFiles are the files that a program consists of.
type devFiles struct {
	packages map[string]bool            // folders with Go files
	modules  map[string]bool            // folders with a go.mod
	embedded map[string]map[string]bool // extensions of embedded files, by their folders
	tree     string                     // where nothing is known: all Go files below this folder
}

// listedPackage is a package as go list writes it.
type listedPackage struct {
	Dir        string
	Standard   bool
	EmbedFiles []string
	Module     *struct {
		Main    bool
		GoMod   string
		Replace *struct{ Version, GoMod string }
	}
}

// files finds the program's files, but for those in modules of others.
func (p *devProgram) files(ctx context.Context) (*devFiles, error) {
	f := &devFiles{packages: map[string]bool{}, modules: map[string]bool{}, embedded: map[string]map[string]bool{}}
	if !p.builds() {
		tree, err := os.Getwd()
		f.tree = tree
		return f, err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list"}, p.flags, []string{"-e", "-deps", "-json=Dir,Standard,EmbedFiles,Module"}, p.packages)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(said.String()))
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var is listedPackage
		if err := dec.Decode(&is); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		f.add(&is)
	}
	if len(f.packages) == 0 {
		return nil, errors.New("go list found no package")
	}
	return f, nil
}

func (f *devFiles) add(is *listedPackage) {
	if is.Standard || is.Dir == "" {
		return
	}
	if m := is.Module; m != nil {
		mod := m.GoMod
		switch {
		case m.Replace != nil && m.Replace.Version == "":
			mod = m.Replace.GoMod
		case !m.Main:
			return
		}
		if mod != "" {
			f.modules[filepath.Dir(mod)] = true
		}
	}
	f.packages[is.Dir] = true
	for _, name := range is.EmbedFiles {
		path := filepath.Join(is.Dir, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if f.embedded[dir] == nil {
			f.embedded[dir] = map[string]bool{}
		}
		f.embedded[dir][filepath.Ext(path)] = true
	}
}
