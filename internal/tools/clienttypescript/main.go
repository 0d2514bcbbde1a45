// Command clienttypescript holds the TypeScript client to a real server: it says whether its generated types are those
// of server/openapi.json, builds and packs it, installs the tarball in a fresh project, compiles programs against it,
// and runs the client's tests there, on SQLite and on PostgreSQL, with a worker and a server that can be killed.
//
//	go run ./internal/tools/clienttypescript
//	go run ./internal/tools/clienttypescript -store sqlite
//	go run ./internal/tools/clienttypescript -write
//
// Packages come from npm's registry, as clients/typescript/package-lock.json has them; it ends with 3 where they are
// not to be had.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

var (
	store  = flag.String("store", "all", "sqlite, postgres or all")
	write  = flag.Bool("write", false, "write the generated types anew, and do nothing else")
	worker = flag.String("worker", "", "be the worker of this database")
	times  = flag.Int("times", 1, "how often the tests are run on a store")
	tell   = flag.Bool("v", false, "print what node's test runner says")
	only   = flag.String("only", ".", "only tests whose names match this")
)

// errFetch: there is nothing to test with.
var errFetch = errors.New("npm's packages could not be fetched")

func main() {
	flag.Parse()
	var err error
	if *worker != "" {
		err = work(*worker)
	} else {
		err = run()
	}
	if errors.Is(err, errFetch) {
		fmt.Println("NOT TESTED: the TypeScript client:", err)
		os.Exit(3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clienttypescript:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := filepath.Abs("bin/.client-typescript") // Go looks for no packages there
	if err != nil {
		return err
	}
	b := build{dir: dir}
	if err := b.fetch(); err != nil {
		return err
	}
	if *write {
		return b.generate("clients/typescript/src/openapi.ts")
	}
	if err := errors.Join(b.current(), b.pack()); err != nil {
		return err
	}
	if err := b.install(); err != nil {
		return err
	}
	if err := b.compile(); err != nil {
		return err
	}
	for _, which := range []string{"sqlite", "postgres"} { // one after the other: they share few cores with others
		if *store == "all" || *store == which {
			if err := test(&b, which); err != nil {
				return err
			}
		}
	}
	if *store != "all" {
		return nil
	}
	return example()
}

// passed is what node's test runner counts.
var passed = regexp.MustCompile(`(?m)^# (tests|pass|fail|skipped|todo) (\d+)$`)

// test runs the client's tests on a store.
func test(b *build, which string) error {
	data, err := os.MkdirTemp("", "clienttypescript")
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
		if db, err = cluster.Create(context.Background(), "clienttypescript"); err != nil {
			return err
		}
	}
	if err := on(&stage{program: b.stepwell, db: db, data: data}, b, which, "client.test.mjs"); err != nil {
		return err
	}
	return on(&stage{program: b.stepwell, db: db, data: data, through: true}, b, which, "steps.test.mjs")
}

// on runs a file of tests on a stage.
func on(s *stage, b *build, which, tests string) error {
	if err := s.start(); err != nil {
		return err
	}
	defer s.close()
	for range *times {
		if err := once(b, s, which, tests); err != nil {
			return err
		}
	}
	if which == "sqlite" && *only == "." && !s.through {
		return runtimes(b, s)
	}
	return nil
}

// once runs them once.
func once(b *build, s *stage, which, tests string) error {
	began := time.Now()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	node := exec.CommandContext(ctx, "node", "--test", "--test-reporter=tap", "--test-name-pattern="+*only, tests)
	node.Dir, node.Env = b.app(), append(os.Environ(), s.env()...)
	out, err := node.CombinedOutput()
	if *tell || time.Since(began) > time.Minute { // which test is so slow?
		fmt.Printf("%s\n", out)
	}
	counts := map[string]string{}
	for _, m := range passed.FindAllStringSubmatch(string(out), -1) {
		counts[m[1]] = m[2]
	}
	if err != nil || counts["pass"] == "0" && *only == "." || counts["pass"] != counts["tests"] && *only == "." {
		err = errors.Join(err, errors.New("tests failed"))
		return fmt.Errorf("the TypeScript client on %s: %w\n%s\n%s", which, err, out, s.logs())
	}
	took := time.Since(began).Round(time.Second)
	fmt.Printf("the TypeScript client on %s, %s: %s of %s, %s\n", which, tests, counts["pass"], counts["tests"], took)
	return nil
}

// example runs the example, and holds it to what its page shows.
func example() error {
	const at = "examples/typescript"
	text, err := os.ReadFile(at + "/README.md")
	if err != nil {
		return err
	}
	_, shown, _ := strings.Cut(string(text), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	listen, err := freeAddress()
	if err != nil {
		return err
	}
	var said strings.Builder
	run := exec.Command(at + "/run.sh")
	run.Env, run.Stderr = append(os.Environ(), "STEPWELL_LISTEN="+listen, "STEPWELL_API_KEY="), &said
	out, err := run.Output()
	if err != nil || string(out) != shown {
		err = errors.Join(err, errors.New("it does not print what its page shows"))
		return fmt.Errorf("%s: %w\n%s\n%s", at, err, out, said.String())
	}
	fmt.Println(at + ": as its page shows")
	return nil
}
