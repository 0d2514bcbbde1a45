package cli

// stepwell dev: what it makes of a command line, which changes matter to it, and what it writes.

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDevReadsGoRun(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]devProgram{
		"./worker -v":                       {path: "./worker", args: []string{"-v"}},
		"go run ./cmd/app":                  {packages: []string{"./cmd/app"}},
		"go run . run -race":                {packages: []string{"."}, args: []string{"run", "-race"}},
		"go run main.go other.go a.txt b":   {packages: []string{"main.go", "other.go"}, args: []string{"a.txt", "b"}},
		"/usr/bin/go run -race -tags a,b .": {flags: []string{"-race", "-tags", "a,b"}, packages: []string{"."}},
		"go run -C app --tags=x -v . -C y":  {flags: []string{"-C", "app", "--tags=x", "-v"}, packages: []string{"."}, in: "app", args: []string{"-C", "y"}},
		"go run -exec sudo .":               {path: "go", args: []string{"run", "-exec", "sudo", "."}},
		"go run example.com/x@latest":       {path: "go", args: []string{"run", "example.com/x@latest"}},
		"go run":                            {path: "go", args: []string{"run"}},
		"go run -tags":                      {path: "go", args: []string{"run", "-tags"}},
		"go test ./...":                     {path: "go", args: []string{"test", "./..."}},
	} {
		got := newDevProgram(strings.Fields(line))
		if diff := cmp.Diff(&want, got, cmp.AllowUnexported(devProgram{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", line, diff)
		}
	}
}

// Each change alone: those that matter are told, those that do not are not. The change that ends each case always matters, so that nothing is waited
// for that does not come.
func TestDevWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(time.Now().String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"app/main.go", "app/page/a.html", "other/x.go", "conf/deep/x", "conf/y", "conf.d/z", "app.db"} {
		write(name)
	}
	join := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	program := &devFiles{
		packages: map[string]bool{join("app"): true}, modules: map[string]bool{dir: true},
		embedded: map[string]map[string]bool{join("app/page"): {".html": true}},
	}
	for name, test := range map[string]struct {
		files    *devFiles
		watch    []string
		yes, not []string
	}{
		"a program": {program, nil, []string{"app/main.go", "app/new.go", "go.mod", "app/page/b.html"},
			[]string{"app/main_test.go", "app/notes.txt", "app/.main.go.swp", "app/main.go~", "other/x.go", "app.db", "app.db-wal", "app/page/b.txt", "app/go.mod"}},
		"a tree": {&devFiles{tree: dir}, nil, []string{"app/main.go", "other/x.go", "new/deep/y.go", "go.sum"},
			[]string{"app.db", "app/page/a.html", "node_modules/x.go", ".git/x.go", "app/x_test.go"}},
		"what is named": {program, []string{"conf", "conf.d/z"}, []string{"conf/deep/x", "conf/y", "conf/new", "conf.d/z"}, []string{"conf.d/other", "conf/.hidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := newDevWatch([]string{join("app.db"), join("app.db-wal")})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.close() }()
			for i := range test.watch {
				test.watch[i] = join(test.watch[i])
			}
			if err := errorsOf(w.also(test.watch), w.follow(test.files)); err != nil {
				t.Fatal(err)
			}
			for _, name := range test.not {
				if w.matters(join(name)) {
					t.Errorf("%s matters, and should not", name)
				}
				write(name)
			}
			for _, name := range test.yes {
				if !w.matters(join(name)) {
					t.Errorf("%s does not matter, and should", name)
				}
			}
			write(test.yes[0])
			select {
			case got := <-w.changed():
				if want := filepath.Base(test.yes[0]); got != want {
					t.Errorf("got %q changed, want %q alone", got, want)
				}
			case <-time.After(10 * time.Second):
				t.Error("no change was told")
			}
		})
	}
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// Lines of several are kept whole, each behind its name; what has no end gets one.
func TestDevOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := newDevOutput(newCLI(&shell{stdout: &out}))
	a, b := o.lines("app", busy, &out), o.lines("server", dim, &out)
	for _, write := range []struct {
		to   *devLines
		text string
	}{{a, "one\ntw"}, {b, "log"}, {a, "o\n\nthree"}, {b, "ged\n"}} {
		if n, err := write.to.Write([]byte(write.text)); n != len(write.text) || err != nil {
			t.Errorf("%q: got %d, %v", write.text, n, err)
		}
	}
	a.flush()
	b.flush()
	o.say("done: %d", 3)
	_, _ = a.Write(bytes.Repeat([]byte("x"), mostDevLine))
	want := "app    │ one\napp    │ two\napp    │ \nserver │ logged\napp    │ three\ndev    │ done: 3\napp    │ " + strings.Repeat("x", mostDevLine) + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A command line that makes no sense starts nothing.
func TestDevRefuses(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	for args, want := range map[string]string{
		"":                          "no program",
		"./app":                     "no program",
		"x -- ./app":                "no program",
		"--listen nonsense -- true": "nonsense",
		"--listen 127.0.0.1:0 --once -- no-such-program-anywhere": "name a program",
		"--listen 127.0.0.1:0 --watch no-such-file -- true":       "--watch",
	} {
		code, out, errs := call{}.do(context.Background(), append([]string{"dev", "--db", db}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("dev %s: got %d, %q, %q, want %d and %q", args, code, out, errs, exitUsage, want)
		}
	}
}

// A programmer whose program opens another database is asked about it; one whose program works on this one is not.
func TestDevAsksWhereTheWorkerIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"nobody": true, "somebody": false} {
		path := filepath.Join(t.TempDir(), "app.db")
		if name == "somebody" {
			path = fixture(t)
		}
		var out bytes.Buffer
		c := newCLI(&shell{stdout: &out, getenv: func(string) string { return "" }, now: func() time.Time { return now }, clock: func() time.Time { return now }})
		c.setDatabase(path)
		if err := c.withNew(t.Context(), func(db *database) error {
			d := newDev(c, db, &serverConfig{}, &devFlags{}, []string{"true"})
			d.hint.Stop()
			d.ask(t.Context()) // before there is a program
			d.child = &devChild{}
			d.ask(t.Context())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if asked := strings.Count(out.String(), "no worker has joined "+path); asked > 1 || (asked == 1) != want {
			t.Errorf("%s works there: got %q, want a question: %v", name, &out, want)
		}
	}
}
