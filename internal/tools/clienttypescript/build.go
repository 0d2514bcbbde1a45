package main

// This file makes the package, and a fresh project that has it.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// build is where the package is built, packed and installed.
type build struct {
	dir      string
	tarball  string
	stepwell string // the program
}

func (b *build) source() string { return filepath.Join(b.dir, "package") }
func (b *build) app() string    { return filepath.Join(b.dir, "app") }

func (b *build) tool(name string) string {
	return filepath.Join(b.source(), "node_modules", ".bin", name)
}

// command runs a program in a folder.
func command(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// fetch has a copy of the sources with the tools that they are built with.
func (b *build) fetch() error {
	for _, name := range []string{"src", "dist"} {
		if err := os.RemoveAll(filepath.Join(b.source(), name)); err != nil {
			return err
		}
	}
	if err := os.CopyFS(filepath.Join(b.source(), "src"), os.DirFS("clients/typescript/src")); err != nil {
		return fmt.Errorf("from the folder of the module: %w", err)
	}
	for _, name := range []string{"README.md", "tsconfig.json"} {
		if err := copyFile(filepath.Join("clients/typescript", name), filepath.Join(b.source(), name)); err != nil {
			return err
		}
	}
	return packages("clients/typescript", b.source())
}

// packages has in a folder what another one's package-lock.json says, from npm's registry, unless it is there.
func packages(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	is := filepath.Join(to, "node_modules", "is.json") // what was fetched last
	was, _ := os.ReadFile(is)                          // none: nothing
	want, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if bytes.Equal(was, want) {
		return nil
	}
	err = command(to, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	switch {
	case err == nil:
		return os.WriteFile(is, want, 0o600)
	case strings.Contains(err.Error(), "EUSAGE"): // the two files do not fit each other
		return err
	}
	return fmt.Errorf("%w: %w", errFetch, err)
}

// generate writes the types of the API.
func (b *build) generate(to string) error {
	from, err := filepath.Abs("server/openapi.json")
	if err != nil {
		return err
	}
	if to, err = filepath.Abs(to); err != nil {
		return err
	}
	return command(b.source(), b.tool("openapi-typescript"), from, "--default-non-nullable=false", "-o", to)
}

// current says whether the generated types are those of the server's description.
func (b *build) current() error {
	const kept = "clients/typescript/src/openapi.ts"
	made := filepath.Join(b.dir, "openapi.ts")
	if err := b.generate(made); err != nil {
		return err
	}
	got, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	want, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New(kept + " is not of server/openapi.json: go run ./internal/tools/clienttypescript -write")
	}
	return nil
}

// pack makes the tarball that would be published, and looks at what is in it.
func (b *build) pack() error {
	if err := command(b.source(), "npm", "run", "--silent", "build"); err != nil {
		return err
	}
	pack := exec.Command("npm", "pack", "--ignore-scripts", "--silent")
	pack.Dir = b.source()
	out, err := pack.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	b.tarball = filepath.Join(b.source(), strings.TrimSpace(string(out)))
	list, err := exec.Command("tar", "-tzf", b.tarball).Output()
	if err != nil {
		return fmt.Errorf("the tarball: %w", err)
	}
	files := strings.Fields(string(list))
	for _, name := range files {
		if name != "package/package.json" && name != "package/README.md" && !strings.HasPrefix(name, "package/dist/") {
			return fmt.Errorf("the tarball has %s", name)
		}
	}
	if !slices.Contains(files, "package/dist/index.d.ts") || !slices.Contains(files, "package/README.md") {
		return fmt.Errorf("the tarball has %q: want dist and README.md", files)
	}
	return nil
}

// install makes a fresh project that has the tarball and nothing else, and builds the server.
func (b *build) install() error {
	if err := errors.Join(os.RemoveAll(b.app()), os.MkdirAll(b.app(), 0o755)); err != nil {
		return err
	}
	project := []byte(`{"name": "app", "private": true, "type": "module"}`)
	if err := os.WriteFile(filepath.Join(b.app(), "package.json"), project, 0o600); err != nil {
		return err
	}
	if err := command(b.app(), "npm", "install", "--offline", "--no-audit", "--no-fund", b.tarball); err != nil {
		return err
	}
	packages, err := os.ReadDir(filepath.Join(b.app(), "node_modules"))
	if err != nil {
		return err
	}
	for _, p := range packages {
		if !strings.HasPrefix(p.Name(), ".") && p.Name() != "@stepwell" {
			return fmt.Errorf("the package brings %s: it is to have no dependencies", p.Name())
		}
	}
	for _, name := range []string{"client.test.mjs", "steps.test.mjs", "steps_program.mjs", "uses.ts", "smoke.mjs", "cli.mjs", "edge.mjs", "page.html"} {
		if err := copyFile(filepath.Join("clients/typescript/test", name), filepath.Join(b.app(), name)); err != nil {
			return err
		}
	}
	b.stepwell = filepath.Join(b.dir, "stepwell")
	return command(".", "go", "build", "-o", b.stepwell, "./cmd/stepwell")
}

// compile holds programs to the package's types: one that uses all of it, and those of the pages. A browser has them,
// and Node.
func (b *build) compile() error {
	programs := []string{"uses.ts"}
	for _, page := range []string{"clients/typescript/README.md", "docs/clients-typescript.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for i, block := range strings.Split(string(text), "\n```ts\n")[1:] {
			code, _, _ := strings.Cut(block, "\n```")
			name := fmt.Sprintf("%s-%d.ts", strings.TrimSuffix(strings.ReplaceAll(page, "/", "-"), ".md"), i+1)
			if err := os.WriteFile(filepath.Join(b.app(), name), []byte(code+"\nexport {};\n"), 0o600); err != nil {
				return err
			}
			programs = append(programs, name)
		}
	}
	args := append([]string{"--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"}, programs...)
	browser := append([]string{"--lib", "es2022,dom"}, args...)
	types := filepath.Join(b.source(), "node_modules", "@types")
	node := append([]string{"--lib", "es2023", "--types", "node", "--typeRoots", types}, args...)
	return errors.Join(command(b.app(), b.tool("tsc"), browser...), command(b.app(), b.tool("tsc"), node...))
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
