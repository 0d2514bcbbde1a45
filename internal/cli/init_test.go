package cli

// The program that init writes: what it needs of the network, and that it compiles and passes its own test.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// hi is a program beside this checkout.
func hi(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "hi")
	tree, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := call{}.do(context.Background(), "init", dir, "--replace", tree, "--json")
	var is written
	if err := json.Unmarshal([]byte(out), &is); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	want := []string{"go.mod", "go.sum", "Makefile", "main.go", "main_test.go"}
	if !slices.Equal(is.Files, want) || is.Module != "example.com/hi" {
		t.Errorf("got %+v, want %v", is, want)
	}
	if want := []string{"cd " + dir, "go test . && go run ."}; runtime.GOOS != "windows" && !slices.Equal(is.Next, want) {
		t.Errorf("got the next commands %q, want %q", is.Next, want)
	}
	return dir
}

// goIn runs go in a directory; what the environment of the tests says of proxies and flags does not count.
func goIn(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s, with %v: %v\n%s", strings.Join(args, " "), env, err, out)
	}
	return string(out)
}

// TestHelloNamesWhatItLinks: go.mod is what go mod tidy writes, with at most 15 modules.
func TestHelloNamesWhatItLinks(t *testing.T) {
	t.Parallel()
	dir := hi(t)
	needs := func() (all []string) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		mod, err := modfile.Parse("go.mod", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range mod.Require {
			all = append(all, fmt.Sprintf("%s indirect: %t", r.Mod, r.Indirect))
		}
		return all
	}
	before := needs()
	if n := len(before); n > 15 {
		t.Errorf("it names %d modules, want at most 15", n)
	}
	goIn(t, dir, nil, "mod", "tidy")
	if diff := cmp.Diff(before, needs()); diff != "" {
		t.Errorf("go mod tidy changes it: -before +after\n%s", diff)
	}
}

// TestHelloBehindProxies: a reader has run the demo, so there is what that needed and nothing else. No proxy that
// refuses, and none that knows nothing, keeps the program from being built, nor does a network that is away: neither it
// nor the database of sums is asked.
func TestHelloBehindProxies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("NOT TESTED: links to directories need rights there")
		return
	}
	t.Parallel()
	cache := afterDemo(t)
	dir := hi(t)
	var asked atomic.Int64
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, 0} {
		proxy := "off"
		if status != 0 {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				t.Logf("asked for %s", r.URL)
				w.WriteHeader(status)
			}))
			defer server.Close()
			proxy = server.URL
		}
		sums := "GOSUMDB=sum.golang.org " + strings.Replace(proxy, "off", "http://127.0.0.1:1", 1)
		env := []string{"GOMODCACHE=" + cache, "GOPROXY=" + proxy, sums}
		if out := goIn(t, dir, env, "list", "-deps", "-test", "."); !strings.Contains(out, "modernc.org/sqlite\n") {
			t.Errorf("%s: got the packages %s", proxy, out)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("a proxy was asked %d times", n)
	}
}

// afterDemo is a cache of modules with what the demo needs, and without what else this machine has.
func afterDemo(t *testing.T) string {
	t.Helper()
	full := strings.TrimSpace(goIn(t, ".", nil, "env", "GOMODCACHE"))
	cache := t.TempDir()
	link := func(name string) {
		to := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(full, name), to); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(goIn(t, ".", nil, "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "../../cmd/demo")) {
		f := strings.Fields(line)
		if len(f) != 2 || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		path, err := module.EscapePath(f[0])
		if err != nil {
			t.Fatal(err)
		}
		version, err := module.EscapeVersion(f[1])
		if err != nil {
			t.Fatal(err)
		}
		link(path + "@" + version)
		for _, kind := range []string{"info", "mod", "zip", "ziphash"} {
			link(filepath.Join("cache", "download", path, "@v", version+"."+kind))
		}
	}
	if len(seen) < 10 {
		t.Fatalf("got %d modules, want those of the command", len(seen))
	}
	return cache
}

// TestHello runs the two commands that come next, and again what has been run.
func TestHello(t *testing.T) {
	t.Parallel()
	dir := hi(t)
	env := []string{"GOPROXY=off"}
	if out := goIn(t, dir, env, "test", "."); !strings.HasPrefix(out, "ok") {
		t.Errorf("its test: got %s", out)
	}
	want := "create-user: ada@example.com\nsend-welcome: ada@example.com\nuser 42\n"
	if out := goIn(t, dir, env, "run", "."); out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if out := goIn(t, dir, env, "vet", "."); out != "" {
		t.Errorf("vet: %s", out)
	}
	if runtime.GOOS != "windows" {
		goIn(t, dir, env, "build", "-o", "hi", ".")
		interruptHello(t, filepath.Join(dir, "hi"), os.Interrupt)
		interruptHello(t, filepath.Join(dir, "hi"), syscall.SIGTERM)
	}
}

// interruptHello ends the program by a signal in its sleep, and runs it again: without a user it prints none, and says why.
func interruptHello(t *testing.T, program string, with os.Signal) {
	t.Helper()
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir, cmd.Stderr = t.TempDir(), &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "create-user: ada@example.com\n" {
		t.Errorf("got %q, %v, want the first step", line, err)
	}
	if err := cmd.Process.Signal(with); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(lines)
	if ended := cmd.Wait(); err != nil || ended == nil || len(rest) > 0 || !strings.Contains(errs.String(), with.String()) {
		t.Errorf("ended by a signal: got %q, %q, %v, %v, want no result and why", rest, errs.String(), ended, err)
	}
	again := exec.CommandContext(t.Context(), program)
	again.Dir = cmd.Dir
	if out, err := again.CombinedOutput(); err != nil || string(out) != "send-welcome: ada@example.com\nuser 42\n" {
		t.Errorf("again: got %q, %v, want what was left to do", out, err)
	}
}

// TestHelloNeedsTheGoOfThisModule: what this module needs is what init says.
func TestHelloNeedsTheGoOfThisModule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(string(text), "\r\n", "\n"), "\ngo "+goNeeded+"\n") {
		t.Errorf("go.mod needs another Go than %s", goNeeded)
	}
}

// TestInitRefuses: nothing is written where something is wrong.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tree, there := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "there")
	for _, test := range []struct {
		says string
		args []string
	}{
		{"already has files in it, such as mine", []string{dir}},
		{"not a directory", []string{filepath.Join(dir, "mine")}},
		{"is not a checkout of Stepwell", []string{there, "--replace", dir}},
		{"malformed import path", []string{there, "--module", "a b", "--replace", tree}},
		{"is Stepwell's own module", []string{there, "--module", ourModule + "/x", "--replace", tree}},
		{"malformed import path", []string{filepath.Join(there, "a b"), "--replace", tree}},
		{"missing argument", nil},
	} {
		code, out, errs := call{}.do(context.Background(), append([]string{"init"}, test.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, test.says) {
			t.Errorf("%v: got exit code %d, %q, %q, want %q", test.args, code, out, errs, test.says)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want the one file", left, err)
	}
	if _, err := os.Stat(there); err == nil {
		t.Errorf("%s was made", there)
	}
}

// TestHelloOfARelease needs that release, and says that modules have to be fetched.
func TestHelloOfARelease(t *testing.T) {
	t.Parallel()
	h := hello{dir: "hi there", module: "example.com/hi", version: "v1.2.3"}
	files, err := h.modules()
	if err != nil || len(files) != 1 || !strings.Contains(string(files[0].text), "require "+ourModule+" v1.2.3\n") {
		t.Errorf("got %s, %v", files, err)
	}
	if got := quoted(h.dir); got != "'hi there'" {
		t.Errorf("got %s", got)
	}
}
