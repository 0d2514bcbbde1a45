package cli

// This file writes the program that the README begins with.

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const (
	ourModule = "github.com/stepwell/stepwell"
	goNeeded  = "1.26.0" // as in go.mod
)

//go:embed hello/*.txt
var helloFiles embed.FS

// written is what --json says of a program that was written.
type written struct {
	acted
	Dir    string   `json:"dir"`
	Module string   `json:"module"`
	Files  []string `json:"files"`
	Next   []string `json:"next"` // commands
}

// hello is the program to write.
type hello struct {
	dir, module string
	version     string // of Stepwell; empty: that of the checkout
	checkout    string // its directory
}

func initCommand(c *cli) *cobra.Command {
	var h hello
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a small program with a workflow and a test, to start from",
		Long: `Write a small program into a new directory: a module, a workflow that survives its process, a test that kills it at
every commit, and a Makefile. The command prints the two commands to run next.

A released stepwell makes the program require that release. If you built stepwell from a checkout, the program uses that
checkout: name it with --replace, or run the command in it. Then you need no network beyond what the checkout needed.

` + exitHelp,
		Example: `  stepwell init hello
  stepwell init hello --module example.com/shop/hello
  stepwell init ../hello --replace .`,
		Args: arguments(1, 1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			h.dir = args[0]
			return h.init(c)
		},
	}
	cmd.Flags().StringVar(&h.module, "module", "", "`path` of the module (default: example.com/ and the name of the directory)")
	cmd.Flags().StringVar(&h.checkout, "replace", "", "a checkout of Stepwell to use, a `directory`")
	c.actFlag(cmd)
	return cmd
}

func (h *hello) init(c *cli) error {
	if err := h.complete(); err != nil {
		return err
	}
	files, err := h.files()
	if err != nil {
		return err
	}
	is := written{acted: acted{Action: "init", Result: "created"}, Dir: h.dir, Module: h.module}
	if err := os.MkdirAll(h.dir, 0o750); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(h.dir, f.name), f.text, 0o644); err != nil {
			return err
		}
		is.Files = append(is.Files, f.name)
	}
	enter := "cd " + quoted(h.dir)
	if h.checkout == "" {
		enter += " && go mod tidy"
	}
	is.Next = []string{enter, "go test . && go run ."}
	return c.tell(is, fmt.Sprintf("%s: wrote %s. Next:\n\n    %s\n", h.dir, strings.Join(is.Files, ", "), strings.Join(is.Next, "\n    ")+firstBuild))
}

// firstBuild warns of a minute in which nothing is printed.
const firstBuild = "  # the first build compiles SQLite: up to a minute"

// quoted is a directory as a shell reads it.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t'\"$&;()*?[]<>|`!#~") {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}

// complete says what was not said, and refuses what does not go.
func (h *hello) complete() error {
	if in, err := os.ReadDir(h.dir); err == nil && len(in) > 0 {
		return usagef("name a directory that does not exist yet", "%s already has files in it, such as %s", h.dir, in[0].Name())
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usagef("name a directory that does not exist yet", "%w", err)
	}
	if h.module == "" {
		whole, err := filepath.Abs(h.dir)
		if err != nil {
			return err
		}
		h.module = "example.com/" + filepath.Base(whole)
	}
	if err := module.CheckImportPath(h.module); err != nil {
		return usagef("give --module, such as example.com/hello", "%w", err)
	}
	if h.module == ourModule || strings.HasPrefix(h.module, ourModule+"/") {
		return usagef("give --module, such as example.com/hello", "%s is Stepwell's own module", h.module)
	}
	if h.checkout != "" {
		if !isCheckout(h.checkout) {
			return usagef("name the directory with Stepwell's go.mod", "%s is not a checkout of Stepwell", h.checkout)
		}
		return nil
	}
	if v := builtFrom().Version; semver.IsValid(v) && semver.Build(v) == "" && !module.IsPseudoVersion(v) {
		h.version = v
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for !isCheckout(dir) {
		above := filepath.Dir(dir)
		if above == dir {
			return usagef("name a checkout with --replace DIR, or run the command in one",
				"this stepwell is not a release, so there is no version for the program to require")
		}
		dir = above
	}
	h.checkout = dir
	return nil
}

func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(text) == ourModule
}

// textFile is a file of the program.
type textFile struct {
	name string
	text []byte
}

func (h *hello) files() (files []textFile, err error) {
	if files, err = h.modules(); err != nil {
		return nil, err
	}
	texts, err := helloFiles.ReadDir("hello")
	if err != nil {
		return nil, err
	}
	for _, f := range texts {
		text, err := helloFiles.ReadFile(path.Join("hello", f.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, textFile{strings.TrimSuffix(f.Name(), ".txt"), text})
	}
	return files, nil
}

// linked are the modules, beside Stepwell, with what the program and its test link: what go mod tidy writes.
var linked = []string{
	"github.com/dustin/go-humanize", "github.com/google/uuid", "github.com/klauspost/compress", "github.com/mattn/go-isatty",
	"github.com/ncruces/go-strftime", "github.com/netresearch/go-cron", "github.com/oklog/ulid/v2", "github.com/remyoudompheng/bigfft",
	"golang.org/x/sys", "modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory", "modernc.org/sqlite",
}

// modules has go.mod, and beside a checkout go.sum. Then it names all modules that the program links, in the checkout's
// versions and with their sums: go build looks for none, and asks neither a proxy nor the database of sums.
func (h *hello) modules() ([]textFile, error) {
	mod := new(modfile.File)
	if err := errors.Join(mod.AddModuleStmt(h.module), mod.AddGoStmt(goNeeded)); err != nil {
		return nil, err
	}
	if h.checkout == "" {
		mod.AddNewRequire(ourModule, h.version, false)
		text, err := mod.Format()
		return []textFile{{"go.mod", text}}, err
	}
	where, err := h.way()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(h.checkout, "go.mod"))
	if err != nil {
		return nil, err
	}
	ours, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(h.checkout, "go.sum"))
	if err != nil {
		return nil, err
	}
	need := []*modfile.Require{{Mod: module.Version{Path: ourModule, Version: "v0.0.0"}}}
	for _, r := range ours.Require {
		if slices.Contains(linked, r.Mod.Path) {
			need = append(need, &modfile.Require{Mod: r.Mod, Indirect: true})
		}
	}
	mod.SetRequireSeparateIndirect(need)
	if err := mod.AddReplace(ourModule, "", where, ""); err != nil {
		return nil, err
	}
	if text, err = mod.Format(); err != nil {
		return nil, err
	}
	return []textFile{{"go.mod", text}, {"go.sum", sums}}, nil
}

// way is the path from the program to the checkout, as go.mod has it.
func (h *hello) way() (string, error) {
	from, err := filepath.Abs(h.dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(h.checkout)
	if err != nil {
		return "", err
	}
	way, err := filepath.Rel(from, to)
	if err != nil { // on another drive
		way = to
	}
	way = filepath.ToSlash(way)
	if !modfile.IsDirectoryPath(way) {
		way = "./" + way
	}
	return way, nil
}
