package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDemo: the small program does what `stepwell demo` does; the tests of that have the rest.
func TestDemo(t *testing.T) {
	program, dir := filepath.Join(t.TempDir(), "demo"), t.TempDir()
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v, stderr %q; stdout:\n%s", err, &errs, out)
	}
	for _, want := range []string{
		"in the middle of charge-card", "attempt 2   (1 × its process died)", `order completed: "A-17 shipped, 3 items"`, "No finished step ran twice:",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q; stdout:\n%s", want, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it left %v in its directory, %v", left, err)
	}
}

// TestLinks: the first command of the README compiles in a minute, as it links what an application does and no more.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		for _, no := range []string{"net/http", "crypto/tls", "github.com/spf13", "github.com/jackc", "github.com/prometheus", "go.opentelemetry.io",
			"google.golang.org", "github.com/stepwell/stepwell/server", "github.com/stepwell/stepwell/internal/cli"} {
			if pkg == no || strings.HasPrefix(pkg, no+"/") {
				t.Errorf("it links %s", pkg)
			}
		}
	}
}
