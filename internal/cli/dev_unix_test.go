//go:build unix

package cli

// stepwell dev with a real program, in a module of its own, whose code is changed while a run of it waits.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// devMain is the program; its answer is what a test changes.
const devMain = `package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

const answer = "one"

var Ask = stepwell.Define("ask", func(ctx stepwell.Context, _ string) (string, error) {
	first, err := stepwell.Step(ctx, "first", func(context.Context) (string, error) { return answer, nil })
	if err != nil {
		return "", err
	}
	if _, _, err := stepwell.Event[string]("go").Wait(ctx); err != nil {
		return "", err
	}
	return first + " " + answer, nil
})

func main() {
	w, err := stepwell.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Ask}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Println("strict", os.Getenv("STEPWELL_STRICT"), "args", os.Args[1:])
	if err := app.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("drained")
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
}
`

// devModule makes a module with the program, which finds Stepwell here, and all that it needs where this test found it.
func devModule(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/stepwell/stepwell\n", "module example.com/app\n\nrequire github.com/stepwell/stepwell v0.0.0\n\nreplace github.com/stepwell/stepwell => "+root+"\n", 1)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": text, "go.sum": string(sum), "main.go": devMain} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// said is what a command has written so far.
type said struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until it was said n times.
func (s *said) await(t *testing.T, want string, n int) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); strings.Count(s.String(), want) < n; <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("got\n%s\nwant %q, %d times", s, want, n)
		}
	}
}

// api is where the server of stepwell dev is.
func (s *said) api(t *testing.T) string {
	t.Helper()
	s.await(t, "API       http", 1)
	return strings.TrimSpace(regexp.MustCompile(`API       (\S+)`).FindStringSubmatch(s.String())[1])
}

// joins asks the server for the place of a step worker, and returns what it says.
func (s *said) joins(t *testing.T) string {
	t.Helper()
	resp, err := http.Post(s.api(t)+"/v1/steps/take", "application/json", strings.NewReader(`{"steps": ["resize"], "name": "py"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// noStepWorker: as the program has the file, no step worker can join, and it is told what helps.
func (s *said) noStepWorker(t *testing.T) {
	t.Helper()
	if text := s.joins(t); !strings.Contains(text, "WORKER_EXISTS") || !strings.Contains(text, "stepwell dev --remote") {
		t.Errorf("a step worker is told %s", text)
	}
}

// TestDevRemote: with --remote the program works through the server, and step workers beside it, on one file.
func TestDevRemote(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(context.Background())
	var out said
	ended := make(chan int, 1)
	args := []string{"dev", "--remote", "--db", filepath.Join(t.TempDir(), "dev.db"), "--listen", "127.0.0.1:0", "--once", "--", "sh", "-c", "echo at $STEPWELL_DB; sleep 1000"}
	go func() {
		ended <- run(ctx, args, &shell{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string { return "" }, now: world.Now, zone: time.UTC, who: "ann@laptop"})
	}()
	t.Cleanup(func() { // behind the worker's end
		interrupt()
		<-ended
	})
	out.await(t, "app    │ at http", 1)
	if !strings.Contains(out.String(), "app    │ at "+out.api(t)+"\n") {
		t.Errorf("the program gets another URL:\n%s", &out)
	}
	if !strings.Contains(out.String(), "step workers need STEPWELL_URL="+out.api(t)+"\n") {
		t.Errorf("a step worker would look for another server, and is not told:\n%s", &out)
	}
	w, err := stepwell.Open(t.Context(), out.api(t))
	if err != nil {
		t.Fatal(err)
	}
	app := works(t, w, stepwell.Define("nap", func(ctx stepwell.Context, in string) (string, error) { return in, nil }))
	started, err := app.Start(t.Context(), "nap", json.RawMessage(`"rested"`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := started.Result(t.Context()); err != nil || string(got) != `"rested"` {
		t.Errorf("the program's run: %s, %v", got, err)
	}
	if text := out.joins(t); !strings.Contains(text, `"worker"`) {
		t.Errorf("a step worker is told %s", text)
	}
}

// TestDevRemoteLeaves: at an interrupt the server is there until the program has ended, which says through it that it
// leaves.
func TestDevRemoteLeaves(t *testing.T) {
	t.Parallel()
	dir := devModule(t)
	text := strings.Replace(devMain, `_ "github.com/stepwell/stepwell/world/sqlite"`, `_ "github.com/stepwell/stepwell/world/remote"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var out said
	ended := make(chan int, 1)
	args := []string{
		"dev", "--remote", "--db", filepath.Join(t.TempDir(), "dev.db"), "--listen", "127.0.0.1:0", "--", "go", "run", "-C", dir, "-mod=mod", ".",
	}
	go func() {
		ended <- run(ctx, args, &shell{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string { return "" }, now: world.Now, zone: time.UTC, who: "ann@laptop",
		})
	}()
	defer func() { // whatever failed
		interrupt()
		<-ended
	}()
	out.await(t, "app    │ strict", 1)
	w, err := stepwell.Open(t.Context(), out.api(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	started, err := app.Start(t.Context(), "ask", json.RawMessage(`""`))
	if err != nil {
		t.Fatal(err)
	}
	waits(t, app, started.ID()) // the program has joined
	interrupt()
	code := <-ended
	ended <- code
	if code != exitOK || !strings.Contains(out.String(), "app    │ drained\n") {
		t.Errorf("got exit code %d, want 0 and a program that left in peace:\n%s", code, &out)
	}
}

// A run waits, the code changes: at first so that it does not compile, which stops nothing; then it does, and the run goes on with it. An interrupt
// ends all, and leaves no process.
func TestDevRestarts(t *testing.T) {
	t.Parallel()
	dir := devModule(t)
	path := filepath.Join(t.TempDir(), "dev.db")
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var out said
	ended := make(chan int, 1)
	args := []string{"dev", "--db", path, "--listen", "127.0.0.1:0", "--", "go", "run", "-C", dir, "-mod=mod", ".", "-x"}
	env := map[string]string{}
	go func() {
		ended <- run(ctx, args, &shell{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(k string) string { return env[k] }, now: world.Now, zone: time.UTC, who: "ann@laptop"})
	}()
	defer func() { // whatever failed
		interrupt()
		<-ended
	}()
	out.await(t, "app    │ strict true args [-x]", 1)
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	started, err := app.Start(t.Context(), "ask", json.RawMessage(`""`))
	if err != nil {
		t.Fatal(err)
	}
	waits(t, app, started.ID())
	out.noStepWorker(t)

	change := func(from, to string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(strings.Replace(devMain, from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change(`"one"`, `one`)
	out.await(t, "it does not build; the previous program keeps running", 1)
	if !strings.Contains(out.String(), "undefined: one") || strings.Contains(out.String(), "drained") {
		t.Errorf("got\n%s\nwant what is wrong, and the program still there", &out)
	}
	change(`"one"`, `"two"`)
	out.await(t, "started again: process ", 1)
	if err := app.Signal(t.Context(), started.ID(), "go", json.RawMessage(`"now"`)); err != nil {
		t.Fatal(err)
	}
	result, err := started.Result(t.Context())
	if err != nil || string(result) != `"one two"` {
		t.Errorf("got %s, %v, want the first step by the old code and the end by the new one", result, err)
	}
	out.await(t, "app    │ drained", 1)
	interrupt()
	code := <-ended
	ended <- code
	if code != exitOK {
		t.Errorf("got exit code %d, want 0:\n%s", code, &out)
	}
	pids := regexp.MustCompile(`process (\d+)`).FindAllStringSubmatch(out.String(), -1)
	if len(pids) != 2 {
		t.Errorf("got %d processes, want 2:\n%s", len(pids), &out)
	}
	for _, m := range pids {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process group %d: got %v, want it gone", pid, err)
		}
	}
	if n := strings.Count(out.String(), "app    │ drained"); n != 2 {
		t.Errorf("got %d programs that drained, want 2", n)
	}
}

// waits waits until a run waits for its event.
func waits(t *testing.T, app *stepwell.App, run string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; <-time.After(5 * time.Millisecond) {
		why, err := app.Why(t.Context(), run)
		if err == nil && why.Kind == stepwell.WhyEvent {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("got %+v, %v, want it waiting for its event", why, err)
		}
	}
}

// With --once the program's end is the command's; what it has started ends too.
func TestDevOnce(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct {
		code int
		out  string
	}{
		"exit 3":                    {3, "the program ended with exit status 3"},
		"echo $STEPWELL_DB; exit 0": {0, "app    │ sqlite:"},
		"printf half":               {0, "app    │ half\n"},
		"sleep 1000 & echo left $!": {0, "app    │ left "},
		"kill -9 $$":                {1, "signal: killed"},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call{}.do(t.Context(),
				"dev", "--db", filepath.Join(t.TempDir(), "a.db"), "--listen", "127.0.0.1:0", "--once", "--", "sh", "-c", script)
			if code != want.code || !strings.Contains(out+errs, want.out) {
				t.Errorf("got %d\n%s%s\nwant %d and %q", code, out, errs, want.code, want.out)
			}
			if m := regexp.MustCompile(`left (\d+)`).FindStringSubmatch(out); m != nil {
				ends(t, m[1])
			}
		})
	}
}

// ends waits until a process is gone that was killed: it dies when it is its turn. It would sleep for longer.
func ends(t *testing.T, pid string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; <-time.After(time.Millisecond) {
		left, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(left), ") Z ") {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("what it started is there: %s", left)
		}
	}
}

// TestDevTells: what goes wrong is told as it happens, with the run, the line and what to do.
func TestDevTells(t *testing.T) {
	t.Parallel()
	dir := devModule(t)
	text := strings.Replace(devMain, "const answer", `var Fail = stepwell.Define("fail", func(ctx stepwell.Context, _ string) (string, error) {
	return stepwell.Step(ctx, "charge", func(context.Context) (string, error) { return "", stepwell.Fatal(fmt.Errorf("card refused")) })
})

const answer`, 1)
	text = strings.Replace(text, "Definition{Ask}", "Definition{Fail}", 1)
	text = strings.Replace(text, `fmt.Println("strict"`, `go func() {
		run, err := Fail.Start(ctx, app, "", stepwell.RunID("r1"))
		if err != nil {
			log.Fatal(err)
		}
		_, err = run.Result(ctx)
		fmt.Println("it came to", err)
		stop()
	}()
	fmt.Println("strict"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call{}.do(t.Context(),
		"dev", "--db", filepath.Join(t.TempDir(), "a.db"), "--listen", "127.0.0.1:0", "--once", "--", "go", "run", "-C", dir, "-mod=mod", ".")
	line := 1 + strings.Count(text[:strings.Index(text, "card refused")], "\n")
	for _, want := range []string{
		fmt.Sprintf("app    │ run failed: r1 of fail v1, step \"charge\", main.go:%d\n", line), "app    │   step \"charge\": card refused\n",
		"app    │   To see what you can do: stepwell runs show r1\n",
	} {
		if code != 0 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, got\n%s%s\nwant %q", code, out, errs, want)
		}
	}
}
