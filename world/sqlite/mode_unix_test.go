//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stepwell/stepwell/world"
)

// TestFilesAreTheOwners: what is made others cannot read, whatever the umask is; what is there keeps its mode, and doctor says so. It is not parallel: the
// umask is the process's.
func TestFilesAreTheOwners(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "runs.db")
	open := func() *World {
		w, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Join(t.Context(), world.Worker{ID: world.NewID(world.PrefixWorker, world.Now())}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	modes := func() (all string) {
		t.Helper()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			all += strings.TrimPrefix(name, path) + info.Mode().Perm().String() + " "
		}
		return all
	}
	file := func(w *World) world.Finding {
		t.Helper()
		found, err := world.Findings(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Check == "file" {
				return f
			}
		}
		t.Fatal("nothing was found about the file")
		return world.Finding{}
	}
	w := open()
	if got := modes(); strings.Count(got, "-rw-------") != strings.Count(got, " ") || strings.Count(got, " ") < 4 {
		t.Errorf("the files are %s, want all to be their owner's alone", got)
	}
	if f := file(w); f.Health != world.HealthGood {
		t.Errorf("doctor: %s", f.Found)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	w = open()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("a file that is there has now the mode %s, %v, want the one that its owner gave it", info.Mode().Perm(), err)
	}
	if f := file(w); f.Health != world.HealthWarning || !strings.Contains(f.Found, "runs.db -rw-r-----") {
		t.Errorf("doctor says %s: %s, want a warning with the mode", f.Health, f.Found)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
