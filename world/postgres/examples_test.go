package postgres_test

// The examples are programs that an author begins with: each says and logs the same on a file and on PostgreSQL.

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
)

func TestExamplesAreTheSameOnEveryWorld(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Glob("../../examples/*/main.go")
	if err != nil || len(programs) < 8 {
		t.Fatalf("got %d examples, %v, want 8 at least", len(programs), err)
	}
	var tried []string
	try := sample.Share(t, 3)
	for i, p := range programs {
		if try(i + 1) {
			tried = append(tried, "./"+filepath.Base(filepath.Dir(p)))
		}
	}
	if len(tried) == 0 { // a day whose share is none
		tried = []string{"./" + filepath.Base(filepath.Dir(programs[0]))}
	}
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-ldflags=-s -w", "-o", bin + string(filepath.Separator)}, tried)...)
	build.Dir = "../../examples"
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as make check builds: most is compiled then
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range tried {
		t.Run(name[2:], func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(bin, name)
			saidOnFile, loggedOnFile := example(t, program, "sqlite:"+filepath.Join(t.TempDir(), "runs.db"))
			said, logged := example(t, program, pgtest.URL(t))
			if diff := cmp.Diff(saidOnFile, said); diff != "" {
				t.Errorf("what it prints (-sqlite +postgres):\n%s", diff)
			}
			if name == "./poller" { // it is ended some time
				loggedOnFile, logged = slices.Compact(loggedOnFile), slices.Compact(logged)
			}
			if diff := cmp.Diff(loggedOnFile, logged); diff != "" {
				t.Errorf("what its runs logged (-sqlite +postgres):\n%s", diff)
			}
		})
	}
}

// example runs one on a database and returns what it printed, and what the logs of its runs say, sorted: steps side by side end in any order.
func example(t *testing.T, program, db string) (said string, logged []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-db", db)
	cmd.Dir = "../.."
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", db, err, &out, &errs)
	}
	w, err := stepwell.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range app.List(t.Context(), stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range app.Events(t.Context(), run.ID, stepwell.EventFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(e.Name, "webhook/") { // only streams of answers are called so
				e.Name = "webhook/…" // it is called after a hook, and so after its run
			}
			line := fmt.Sprint(run.Workflow, " ", run.Status, ": ", e.Type, " ", e.Kind, " ", e.Name, " ", e.Occurrence, " ", e.Attempt)
			if e.Error != nil {
				line += " " + e.Error.Code + " " + e.Error.Message
			}
			logged = append(logged, line)
		}
	}
	slices.Sort(logged)
	if len(logged) == 0 {
		t.Errorf("%s: it left no log", db)
	}
	return out.String(), logged
}
