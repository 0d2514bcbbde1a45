//go:build unix

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVetStartsItsProgram: it lies in PATH or where go install puts it; arguments, output and exit code pass through it.
// Where it is not, the error says how to get it. What it finds is tested in vet/cmd/stepwellvet.
func TestVetStartsItsProgram(t *testing.T) {
	bin, path := t.TempDir(), t.TempDir()
	t.Setenv("GOBIN", bin)
	put := func(dir, says string) {
		t.Helper()
		script := "#!/bin/sh\necho " + says + " \"$@\"\necho wrong >&2\nexit 7\n"
		if err := os.WriteFile(filepath.Join(dir, vetProgram), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	vet := func(args ...string) (int, string, string) {
		return call{}.do(context.Background(), append([]string{"vet"}, args...)...)
	}
	if code, _, errs := vet("./..."); code != exitFailure || !strings.Contains(errs, "no program stepwellvet") || !strings.Contains(errs, "go install github.com/stepwell/stepwell/vet/cmd/stepwellvet@latest") {
		t.Errorf("it is nowhere: exit code %d, %s", code, errs)
	}
	put(bin, "installed")
	code, out, errs := vet("./a", "--only", "time,files", "--json", "./b", "--fix")
	if code != 7 || out != "installed --fix=true --json=true --only=time,files -- ./a ./b\n" || errs != "wrong\n" {
		t.Errorf("got exit code %d, %q, %q", code, out, errs)
	}
	put(path, "found")
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if code, out, errs := vet(); code != 7 || out != "found --\n" || errs != "wrong\n" {
		t.Errorf("in PATH: got exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := vet("--fixx"); code != exitUsage || !strings.Contains(errs, "unknown flag: --fixx") {
		t.Errorf("got exit code %d, %q", code, errs)
	}
}
