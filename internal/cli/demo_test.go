package cli

// The demo, end to end: the built program, a real process that is killed.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/demo"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// build returns the path of the program, which is built once for all tests.
func build(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builtIn is the directory of the program, once it was built; TestMain removes it.
var builtIn string

var built = sync.OnceValues(func() (path string, err error) {
	if builtIn, err = os.MkdirTemp("", "stepwell-built-"); err != nil {
		return "", err
	}
	path = filepath.Join(builtIn, "stepwell")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/stepwell").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// play runs the demo with dir for its temporary files.
func play(t *testing.T, program, dir string, args ...string) (code int, stdout, stderr string, took time.Duration) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(began)
}

func TestDemo(t *testing.T) {
	program, dir := build(t), t.TempDir()
	code, out, errs, took := play(t, program, dir)
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, stderr %q, want 0 and none; stdout:\n%s", code, errs, out)
	}
	if took > 20*time.Second {
		t.Errorf("it took %s, want less than 20 s", took)
	}
	for _, want := range []string{
		"in the middle of charge-card", "attempt 2   (1 × its process died)", "attempt 3   (2 × mail: connection refused", "timed out",
		"ada completed: \"verified\"", "bob completed: \"nudged\"", "order completed: \"A-17 shipped, 3 items\"",
		"commits", "claims", "No finished step ran twice:", "\nNext, a program of your own:  stepwell init hello\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q; stdout:\n%s", want, out)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("it left %v in its directory, %v", left, err)
	}
}

// TestDemoKeeps: with --keep the files stay; what they hold is what was told.
func TestDemoKeeps(t *testing.T) {
	program, dir := build(t), t.TempDir()
	code, out, errs, _ := play(t, program, dir, "--keep", "--json")
	if code != exitOK {
		t.Fatalf("exit code %d, stderr %q; stdout:\n%s", code, errs, out)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "stepwell-demo-*"))
	if err != nil || len(kept) != 1 || !strings.Contains(out, kept[0]) {
		t.Fatalf("kept %v, %v; want one directory, and that it is told; stdout:\n%s", kept, err, out)
	}
	told := objectsOf(t, "demo", out)
	if last := told[len(told)-1]; last["action"] != "keep" || last["directory"] != kept[0] {
		t.Errorf("the last that it told is %v, want where it kept what", last)
	}
	text, err := os.ReadFile(filepath.Join(kept[0], demo.Bodies))
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{}
	starts := map[string]int{}
	for _, l := range objectsOf(t, "demo", string(text)) {
		switch l["what"] {
		case "starts":
			starts[l["name"].(string)]++
		case "ends":
			ends[l["step"].(string)]++
		}
	}
	for step, n := range ends {
		if n != 1 {
			t.Errorf("step %s was completed %d times, want once", step, n)
		}
	}
	if starts["charge-card"] != 2 {
		t.Errorf("step charge-card started %d times, want 2", starts["charge-card"])
	}
	w, err := sqlite.Open(filepath.Join(kept[0], demo.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	page, err := w.Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 3 {
		t.Fatalf("%d runs, %v; want 3", len(page.Runs), err)
	}
	for _, run := range page.Runs {
		if run.Status != world.Completed {
			t.Errorf("run %s of %s is %s, want completed", run.ID, run.Workflow, run.Status)
		}
	}
}

// TestDemoFails: what goes wrong is said, with exit code 1.
func TestDemoFails(t *testing.T) {
	code, _, errs, _ := play(t, build(t), filepath.Join(t.TempDir(), "gone"))
	if code != exitFailure || !strings.HasPrefix(errs, "stepwell: ") {
		t.Errorf("exit code %d, stderr %q; want 1 and what went wrong", code, errs)
	}
}
