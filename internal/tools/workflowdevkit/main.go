// Command workflowdevkit holds the World for Workflow DevKit to the DevKit's own suite: its published package
// @workflow/world-testing runs its workflows on this Stepwell, on SQLite and on PostgreSQL. With -kill it has its
// own run of the same workflows instead, through a door that kills the server between calls and delivers messages
// twice. With -newest it runs workflows of all shapes on the newest runtime that is published, or with -kill some of
// them so; with -beside it measures two of them on this Stepwell and on the DevKit's own Worlds, in turns.
//
//	go run ./internal/tools/workflowdevkit
//	go run ./internal/tools/workflowdevkit -kill -store sqlite
//	go run ./internal/tools/workflowdevkit -newest
//	go run ./internal/tools/workflowdevkit -beside -rounds 3
//
// Packages come from npm's registry, as clients/wdk/test/package-lock.json has them; it ends with 3 where they are
// not to be had.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

var (
	store   = flag.String("store", "all", "sqlite, postgres or all")
	shaped  = flag.Bool("newest", false, "run workflows of all shapes on the newest runtime")
	besides = flag.Bool("beside", false, "measure Stepwell beside the DevKit's own Worlds")
	rounds  = flag.Int("rounds", 3, "with -beside: how often each is measured")
	killing = flag.Bool("kill", false, "kill the server between calls, and deliver messages twice")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the calls at which the server is killed")
	only    = flag.String("only", "", "with -kill: only workflows with this in their name")
	share   = flag.Int("share", 1, "one in so many calls is one at which the server is killed")
)

// errFetch: there is nothing to test with.
var errFetch = errors.New("npm's packages could not be fetched")

func main() {
	flag.Parse()
	err := run()
	if errors.Is(err, errFetch) {
		fmt.Println("NOT TESTED: the World for Workflow DevKit:", err)
		os.Exit(3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "workflowdevkit:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := install()
	if err != nil {
		return err
	}
	if *shaped || *besides {
		if _, err := installLine(dir, &newestLine); err != nil {
			return err
		}
	}
	if *besides {
		return beside(dir)
	}
	stores := []string{"sqlite", "postgres"}
	if *store != "all" {
		stores = []string{*store}
	}
	errs := make([]error, len(stores))
	var all sync.WaitGroup
	for i, which := range stores {
		all.Go(func() { errs[i] = test(dir, which) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// install has the packages, the client and the server in a folder of bin, in which Go looks for no packages, and
// returns where that is.
func install() (string, error) {
	dir, err := filepath.Abs("bin/.workflow-devkit")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(dir, "new"), os.DirFS("clients/wdk/test")); err != nil {
		return "", fmt.Errorf("from the folder of the module: %w", err)
	}
	lock := filepath.Join(dir, "package-lock.json")
	was, _ := os.ReadFile(lock) // none: it was not there
	for _, name := range []string{"package.json", "package-lock.json", "empty", "suite.test.mjs", "devkit.test.mjs", "polyfill.mjs"} {
		to := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(to), os.Rename(filepath.Join(dir, "new", name), to)); err != nil {
			return "", err
		}
	}
	_ = os.RemoveAll(filepath.Join(dir, "new"))
	now, err := os.ReadFile(lock)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "vitest")); err != nil || !bytes.Equal(was, now) {
		if err := npmInstall(dir); err != nil {
			return "", err
		}
	}
	client := filepath.Join(dir, "node_modules", "@stepwell", "world")
	if err := os.MkdirAll(client, 0o755); err != nil {
		return "", err
	}
	text, err := os.ReadFile("clients/wdk/package.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(client, "package.json"), text, 0o644)
	}
	if err != nil {
		return "", err
	}
	sources, err := filepath.Glob("clients/wdk/src/*.ts")
	if err != nil {
		return "", err
	}
	compile := exec.Command(filepath.Join(dir, "node_modules", ".bin", "esbuild"),
		append(sources, "--outdir="+filepath.Join(client, "dist"), "--format=esm", "--platform=node", "--log-level=error")...)
	for _, cmd := range []*exec.Cmd{compile, exec.Command("go", "build", "-o", filepath.Join(dir, "stepwell"), "./cmd/stepwell")} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return dir, nil
}

// npmInstall fetches the packages that a folder names.
func npmInstall(dir string) error {
	npm := exec.Command("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		_ = os.RemoveAll(filepath.Join(dir, "node_modules"))
		return fmt.Errorf("%w: %w\n%s", errFetch, err, out)
	}
	return nil
}

// test runs on a store what is asked for: the suite, if nothing else is.
func test(dir, which string) error {
	data, err := os.MkdirTemp("", "workflowdevkit")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(data) }()
	db := "sqlite:" + filepath.Join(data, "app.db")
	if which == "postgres" {
		cluster, err := pgtest.Start(pgtest.Config{})
		if err != nil {
			return err
		}
		defer func() { _ = cluster.Close() }()
		if db, err = cluster.Create(context.Background(), "workflowdevkit"); err != nil {
			return err
		}
	}
	s, err := startServer(dir, data, db)
	if err != nil {
		return err
	}
	defer s.kill()
	switch {
	case *killing:
		return kill(dir, data, which, s)
	case *shaped:
		return newest(dir, data, which, s)
	}
	return suite(dir, which, s)
}

// said is what the client says of itself where a key is wrong, as one program asks it: which app it is, and why not.
const said = `import { createWorld } from '@stepwell/world';
const world = createWorld({ apiKey: 'worker:app:not-the-key' });
console.log(await world.getDeploymentId());
await world.runs.get('r').catch((err) => console.log(err.name, err.message));`

// client holds the client to what it says: apps are told apart by the names of their packages.
func client(dir string, s *server) error {
	node := exec.Command("node", "--input-type=module", "-e", said)
	node.Dir, node.Env = dir, append(os.Environ(), "STEPWELL_URL="+s.url())
	out, err := node.CombinedOutput()
	want := "wdk-suite\nWorkflowWorldError Stepwell at " + s.url() + " does not know the API key: set STEPWELL_API_KEY\n"
	if err != nil || string(out) != want {
		return errors.Join(fmt.Errorf("the client says %q, want %q", out, want), err)
	}
	return nil
}

// suite runs the DevKit's own suite.
func suite(dir, which string, s *server) error {
	if err := client(dir, s); err != nil {
		return err
	}
	began := time.Now()
	vitest := exec.Command(filepath.Join(dir, "node_modules", ".bin", "vitest"), "run", "suite.test.mjs", "devkit.test.mjs")
	vitest.Dir = dir
	vitest.Env = append(os.Environ(), "STEPWELL_URL="+s.url(), "STEPWELL_API_KEY="+workerKey, "NO_COLOR=1",
		"NODE_OPTIONS=--import "+filepath.Join(dir, "polyfill.mjs"))
	out, err := vitest.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("17 passed (17)")) {
		log, _ := os.ReadFile(s.log)
		return fmt.Errorf("the suite of Workflow DevKit on %s: %w\n%s\n%s", which, err, out, log)
	}
	fmt.Printf("Workflow DevKit's suite on %s: 12 of 12, and 5 of 5 of the client's own, %s\n", which, time.Since(began).Round(time.Second))
	return nil
}

// workerKey is what the client shows.
const workerKey = "0123456789abcdef0123456789abcdef"

// server is a Stepwell server that can be killed and started again, on its database and at its address.
type server struct {
	program, db, log string
	at               string // host and port
	cmd              *exec.Cmd
}

// startServer starts a server on a database.
func startServer(dir, data, db string) (*server, error) {
	s := &server{program: filepath.Join(dir, "stepwell"), db: db, log: filepath.Join(data, "server.log")}
	return s, s.start()
}

func (s *server) url() string { return "http://" + s.at }

func (s *server) start() error {
	if s.at == "" {
		at, err := freeAddress()
		if err != nil {
			return err
		}
		s.at = at
	}
	log, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command(s.program, "server", "--db", s.db, "--listen", s.at)
	s.cmd.Env = append(os.Environ(), "STEPWELL_API_KEY=worker:app:"+workerKey)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if res, err := http.Get(s.url() + "/readyz"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	text, _ := os.ReadFile(s.log)
	return fmt.Errorf("the server did not begin: %s", strings.TrimSpace(string(text)))
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
