//go:build unix

package docs_test

// Where the commands of the pages are run: a directory, a database with runs in it, and the program that a page has the reader write.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// build builds the command stepwell into a directory, and fetches what a reader's first go get does: the stage is off the network.
func build(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"install", "./cmd/stepwell"}, {"-C", "cmd/stepwell-mcp", "install", "."}, {"list", "-m", "all"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = root, append(plain(), "GOBIN="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	fetch(t)
}

// fetch fetches all modules that go mod tidy wants in a program on PostgreSQL, which the pages run offline: also those
// that only tests of other modules import.
func fetch(t *testing.T) {
	t.Helper()
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const program = "package main\n\nimport _ \"github.com/stepwell/stepwell/world/postgres\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "example.com/fetch"}, {"mod", "edit", "-replace", "github.com/stepwell/stepwell=" + tree}, {"mod", "tidy"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(plain(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// newStage prepares for a page; bin is where its shell finds the command.
func newStage(t *testing.T, page, bin string) *stage {
	t.Helper()
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, page: page, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	s.env = append(plain(), "PATH="+bin+":"+os.Getenv("PATH"), "GOBIN="+bin, "GOFLAGS=-ldflags=-w", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off",
		"GOTOOLCHAIN=local", "SECONDS_ARE=20ms", "STEPWELL_DB=")
	words := []string{"=../stepwell", "=" + tree, "(cd stepwell &&", "(cd " + tree + " &&", // a checkout beside it
		"go run ./cmd/stepwell init ../hello", "stepwell init ../hello --replace " + tree, "--replace stepwell", "--replace " + tree}
	switch page {
	case "docs/getting-started.md", "docs/tutorial/1-order.md":
		s.env = append(s.env, "SECONDS_ARE=1h") // until it is killed
	case "docs/postgres.md":
		words = append(words, "postgres://owner@db.internal/app", pgtest.URL(t))
	case "docs/first-postgres.md":
		s.env = append(s.env, "SECONDS_ARE=1h")
		words = append(words, "postgres://postgres:secret@localhost:5432/postgres", pgtest.URL(t))
	}
	s.words = strings.NewReplacer(words...)
	if chapterOf(page) > 1 { // the reader comes from the one before
		if _, errs, err := s.shell("stepwell init shop --replace " + tree + " && cd shop && rm main_test.go"); err != nil {
			t.Fatalf("%v\n%s", err, errs)
		}
	}
	return s
}

// cast are runs for commands to act on: each command has runs of its own.
type cast struct {
	waiting      []world.HookRow // runs that wait, for a hook and for all else
	failed, over string
}

type verified struct {
	UserID string `json:"userId"`
}

var (
	verify = stepwell.Event[verified]("verify")

	// desk waits for everything that one can send to a run.
	desk = stepwell.Define("desk", func(ctx stepwell.Context, _ string) (string, error) {
		hook, err := stepwell.NewHook[json.RawMessage](ctx)
		if err != nil {
			return "", err
		}
		_, err = stepwell.Select(ctx, hook.Start(ctx), verify.Start(ctx), stepwell.Timer(ctx, "nap", 100*time.Hour))
		return "", err
	})

	// order fails.
	order = stepwell.Define("order", func(ctx stepwell.Context, _ string) (string, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (string, error) { return "", stepwell.Fatal(errors.New("no such card")) })
	})
)

// manyWait is more than any page has commands.
const manyWait = 30

// record makes runs on a file, as a worker that has ended leaves them.
func (s *stage) record(path string) *cast {
	s.t.Helper()
	w, err := sqlite.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{onboard, desk, order}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	work, drain := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- app.Run(work) }()
	c := &cast{}
	err = c.fill(ctx, app)
	drain()
	if err := errors.Join(err, <-ended); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (c *cast) fill(ctx context.Context, app *stepwell.App) error {
	good, err := onboard.Start(ctx, app, signup{Email: "ada@example.com"})
	if err != nil {
		return err
	}
	c.over = good.ID()
	bad, err := order.Start(ctx, app, "")
	if err != nil {
		return err
	}
	c.failed = bad.ID()
	for range manyWait {
		if _, err := desk.Start(ctx, app, ""); err != nil {
			return err
		}
	}
	if _, err := good.Result(ctx); err != nil {
		return err
	}
	if _, err := bad.Result(ctx); err == nil {
		return errors.New("the order did not fail")
	}
	for len(c.waiting) < manyWait {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d of %d runs wait: %w", len(c.waiting), manyWait, err)
		}
		if c.waiting, err = app.Hooks(ctx, "", ""); err != nil {
			return err
		}
		<-time.After(time.Millisecond)
	}
	return nil
}

// fill puts runs in the place of a command's words in capitals.
func (s *stage) fill(text string) string {
	if !strings.Contains(text, "stepwell ") || strings.HasPrefix(text, "stepwell init ") || s.program != nil || chapterOf(s.page) > 0 {
		return s.program.names(text)
	}
	if s.cast == nil {
		path := filepath.Join(s.dir, "app.db")
		s.cast = s.record(path)
		s.env = append(s.env, "STEPWELL_DB="+path)
	}
	if !strings.Contains(text, "RUN") && !strings.Contains(text, "TOKEN") && !strings.Contains(text, "WORKFLOW") {
		return text
	}
	one := s.cast.waiting[0]
	s.cast.waiting = s.cast.waiting[1:]
	run := one.Run
	switch {
	case strings.Contains(text, "runs retry "), strings.Contains(text, " --in-place"):
		run = s.cast.failed
	case strings.Contains(text, "tail "), strings.Contains(text, "runs result "), strings.Contains(text, "streams "), strings.Contains(text, "export "): // until it is over
		run = s.cast.over
	}
	return strings.NewReplacer("RUN...", run, "RUN", run, "TOKEN", one.Token, "--at EVENT", "--at 3", "EVENT", "verify", "JSON", `'{"userId":"42"}'`,
		"WHY", "because").Replace(text)
}

// program is one that a page has the reader write, at work in another terminal.
type program struct {
	s    *stage
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	said int      // lines that the page has shown
	as   []string // what the page calls its process and its run, and what they are
	next *program // it goes on beside this one; nil: none
	done chan struct{}
}

// Write takes what it prints.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Split(p.out.String(), "\n")
}

// start starts it; the test's end ends it.
func (s *stage) start(text string) *program {
	s.t.Helper()
	p := &program{s: s, cmd: exec.CommandContext(s.t.Context(), text), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = s.dir, s.env, p, p
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { defer close(p.done); _ = p.cmd.Wait() }()
	s.t.Cleanup(p.stop)
	return p
}

// stop ends it, if it is there.
func (p *program) stop() {
	if p != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
	}
}

var called = regexp.MustCompile(`process (\d+)(?: works on run (wrun_\w+))?`)

// mainFirst are lines of which the one that names the process is the first: the runs of a program print beside its main.
func mainFirst(lines []string) []string {
	i := slices.IndexFunc(lines, called.MatchString)
	if i <= 0 {
		return lines
	}
	return slices.Concat(lines[i:i+1], lines[:i], lines[i+1:])
}

// says waits until it has printed what the page shows, and learns what the page calls it.
func (p *program) says(at string, shown []string) {
	p.s.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		got := p.lines()[p.said:]
		if n := len(shown); len(got) >= n {
			got = mainFirst(got[:n])
		}
		if n := len(shown); len(got) >= n && slices.Equal(steady(got[:n]), steady(shown)) {
			p.said += n
			if is, as := called.FindStringSubmatch(got[0]), called.FindStringSubmatch(shown[0]); is != nil && as != nil {
				if p.as = []string{as[1], is[1]}; as[2] != "" {
					p.as = append(p.as, as[2], is[2], as[2][:len("wrun_01M7Z5")], is[2]) // the page cuts the run's ID short
				}
			}
			return
		}
		if time.Now().After(end) {
			p.s.t.Fatalf("%s: the program says\n%s\nwant, but for what changes,\n%s", at, strings.Join(got, "\n"), strings.Join(shown, "\n"))
		}
		<-time.After(5 * time.Millisecond)
	}
}

// names puts this process and this run in the place of those of the page.
func (p *program) names(text string) string {
	if p == nil {
		return text
	}
	return p.next.names(strings.NewReplacer(p.as...).Replace(text))
}
