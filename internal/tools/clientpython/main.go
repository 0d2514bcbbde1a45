// Command clientpython tests the Python client as its users have it: it packs a wheel, installs that in a fresh
// environment, and runs the client's tests there against a server and a worker that are built from this tree, on SQLite
// and on PostgreSQL. Then it runs the examples, and mypy where that is installed.
//
//	go run ./internal/tools/clientpython
//	go run ./internal/tools/clientpython -store sqlite -run test_streams
//
// It ends with 3 where there is no Python that can do it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

var (
	store = flag.String("store", "all", "sqlite, postgres or all")
	with  = flag.String("python", "python3,python3.10", "the usual one, and the oldest that is supported")
	only  = flag.String("run", "", "only tests with this in their name, without mypy and example")
)

// errPython: there is nothing to test with.
var errPython = errors.New("no Python 3.10 or newer with pip, venv, setuptools and wheel: see clients/python/install.sh")

func main() {
	flag.Parse()
	err := run()
	if errors.Is(err, errPython) {
		fmt.Println("NOT TESTED: the Python client:", err)
		os.Exit(3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clientpython:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	pythons, packer := find()
	if len(pythons) == 0 || packer == "" {
		return errPython
	}
	dir, err := os.MkdirTemp("", "clientpython")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	wheel, err := pack(dir, packer)
	if err != nil {
		return err
	}
	for _, program := range []string{"./cmd/stepwell", "./internal/tools/clientpython/worker"} {
		if err := do(nil, "go", "build", "-o", dir+string(filepath.Separator), program); err != nil {
			return err
		}
	}
	if err := certificate(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")); err != nil {
		return err
	}
	stores := []string{"sqlite", "postgres"}
	if *store != "all" {
		stores = []string{*store}
	}
	for i, python := range pythons {
		installed, err := install(filepath.Join(dir, fmt.Sprint("env", i)), python, wheel)
		if err != nil {
			return err
		}
		for _, which := range stores {
			if err := test(dir, installed, which); err != nil {
				return err
			}
		}
	}
	if *only != "" {
		return nil
	}
	return errors.Join(types(), example("examples/python", pythons[0]), example("examples/resize", pythons[0]))
}

// find returns the Pythons to test with that are there, and one that can pack.
func find() (pythons []string, packer string) {
	seen := map[string]bool{}
	given := strings.Split(*with, ",")
	for i, name := range append(given, "/usr/bin/python3") { // Debian's has what packs
		tells := `import sys, venv, ensurepip; assert sys.version_info >= (3, 10); print(sys.version_info[:2])`
		out, err := exec.Command(name, "-c", tells).Output()
		if err != nil {
			continue
		}
		if i < len(given) && !seen[string(out)] {
			seen[string(out)] = true
			pythons = append(pythons, name)
		}
		packs := `import importlib.util as u; assert all(map(u.find_spec, ("pip", "setuptools", "wheel")))`
		if packer == "" && exec.Command(name, "-c", packs).Run() == nil {
			packer = name
		}
	}
	return pythons, packer
}

// pack makes a wheel of a copy of the sources, as packing writes beside them.
func pack(dir, python string) (string, error) {
	sources, wheels := filepath.Join(dir, "sources"), filepath.Join(dir, "wheels")
	if err := os.CopyFS(sources, os.DirFS("clients/python")); err != nil {
		return "", fmt.Errorf("from the folder of the module: %w", err)
	}
	err := do(nil, python, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", wheels, sources)
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(wheels, "stepwell-*-py3-none-any.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("got the wheels %q, %w", found, err)
	}
	return found[0], nil
}

// install makes an environment that has the wheel and nothing else, and returns its Python.
func install(env, python, wheel string) (string, error) {
	installed := filepath.Join(env, "bin", "python")
	if runtime.GOOS == "windows" {
		installed = filepath.Join(env, "Scripts", "python.exe")
	}
	return installed, errors.Join(
		do(nil, python, "-m", "venv", env),
		do(nil, installed, "-m", "pip", "install", "--no-index", wheel))
}

var counted = regexp.MustCompile(`(?m)^Ran (\d+) tests? in ([\d.]+)s$`)

// test runs the client's tests on a store.
func test(dir, python, which string) error {
	data, err := os.MkdirTemp(dir, which)
	if err != nil {
		return err
	}
	db := "sqlite:" + filepath.Join(data, "app.db")
	if which == "postgres" {
		cluster, err := pgtest.Start(pgtest.Config{NoSync: true})
		if err != nil {
			return err
		}
		defer func() { _ = cluster.Close() }()
		if db, err = cluster.Create(context.Background(), "clientpython"); err != nil {
			return err
		}
	}
	tests, err := filepath.Abs("clients/python/tests")
	if err != nil {
		return err
	}
	log := filepath.Join(data, "log")
	args := []string{"-W", "error", "-m", "unittest", "discover", "-s", tests}
	if *only != "" {
		args = append(args, "-v", "-k", *only)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Dir = data
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its server and its worker
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "STEPWELL_TEST_DB="+db, "STEPWELL_TEST_LOG="+log,
		"STEPWELL_TEST_CERT="+filepath.Join(dir, "cert.pem"), "STEPWELL_TEST_KEY="+filepath.Join(dir, "key.pem"),
		"STEPWELL_TEST_SERVER="+filepath.Join(dir, "stepwell"), "STEPWELL_TEST_WORKER="+filepath.Join(dir, "worker"))
	out, err := cmd.CombinedOutput()
	n := counted.FindSubmatch(out)
	if err != nil || n == nil || bytes.Contains(out, []byte("Exception ignored")) {
		said, _ := os.ReadFile(log)
		return fmt.Errorf("the Python client on %s: %w\n%s\n%s", which, err, said[max(0, len(said)-4000):], out)
	}
	if *only != "" {
		fmt.Printf("%s\n", out)
	}
	version, err := exec.Command(python, "--version").Output()
	fmt.Printf("the Python client on %s, %s: %s tests, %s s\n", which, bytes.TrimSpace(version), n[1], n[2])
	return err
}

// types has mypy read all that is typed.
func types() error {
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		fmt.Println("NOT TESTED: the types of the Python client: there is no mypy")
		return nil
	}
	env := []string{"MYPYPATH=clients/python/src" + string(filepath.ListSeparator) + "clients/python/tests"}
	return do(env, mypy, "--strict", "--cache-dir", os.DevNull, "--config-file", "clients/python/pyproject.toml",
		"clients/python/src/stepwell", "clients/python/tests", "examples/python/order.py", "examples/resize/resize.py", "examples/resize/album.py")
}

// example runs an example, and holds its page to what that prints.
func example(at, python string) error {
	page, err := os.ReadFile(at + "/README.md")
	if err != nil {
		return err
	}
	_, want, _ := strings.Cut(string(page), "```text\n")
	want, _, _ = strings.Cut(want, "```")
	cmd := exec.Command(at + "/run.sh")
	cmd.Env = append(os.Environ(), "PYTHON="+python, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != want {
		return fmt.Errorf("%s: %w\n%s\nits page shows\n%s", at, err, out, want)
	}
	return nil
}

// do runs a command, and shows what it said where it fails.
func do(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append(env, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
