package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driversqlite "modernc.org/sqlite"

	"github.com/stepwell/stepwell/world"
)

// leftBehind are a file and its log as a killed process leaves them: one run a commit. Between the first two its process was
// closed, so that a new log began.
type leftBehind struct{ closed, copied, backedUp, file, log string }

func leaveBehind(t *testing.T, o Options) (l leftBehind) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "runs.db")
	at := func(name string) string { return filepath.Join(dir, name) }
	l = leftBehind{at("closed"), at("copied"), at("backedUp"), at("file"), at("log")}
	w := openAt(t, path, o)
	must(t, w, birthOf("r1", "w"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	copyTo(t, path, l.closed)
	for i := range 3 { // each begins a log
		w = openAt(t, path, o)
		must(t, w, birthOf(fmt.Sprint("r", 2+i), "w"))
		if i == 2 {
			break
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	script(t, path, "VACUUM INTO '"+l.copied+"'")
	back(t, path, l.backedUp)
	must(t, w, birthOf("r5", "w"))
	copyTo(t, path, l.file)
	copyTo(t, logPath(path), l.log)
	return l
}

// back makes a backup with SQLite's backup API, as the shell's .backup does.
func back(t *testing.T, path, to string) {
	t.Helper()
	c := connectTo(t, path)
	if err := c.keepLog(true); err != nil {
		t.Fatal(err)
	}
	b, err := c.raw.(interface {
		NewBackup(string) (*driversqlite.Backup, error)
	}).NewBackup("file:" + to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Step(-1); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(); err != nil {
		t.Fatal(err)
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A log that was left behind by another state of the file is refused, and nothing is changed. Without it the file opens.
func TestLogOfAnotherAge(t *testing.T) {
	t.Parallel()
	l := leaveBehind(t, Options{})
	for name, c := range map[string]struct {
		file string
		runs int // that the file has; 0: the log is refused
		own  int // and without the log
	}{
		"its own":                      {l.file, 5, 0},
		"of before two logs":           {l.closed, 0, 1},
		"a copy by VACUUM INTO":        {l.copied, 0, 4},
		"a copy by SQLite's backup":    {l.backedUp, 0, 4},
		"a new file":                   {emptyDatabase(t), 0, 0},
		"a file that is there no more": {"", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			if c.file == "" { // SQLite deletes the log
				copyTo(t, l.log, logPath(path))
				wantRuns(t, path, 0)
				return
			}
			copyTo(t, c.file, path)
			copyTo(t, l.log, logPath(path))
			if c.runs > 0 {
				wantRuns(t, path, c.runs)
				return
			}
			for what, err := range map[string]error{"open": openOnce(path), "look": lookOnce(t, path)} {
				if !errors.Is(err, world.ErrStorage) || !strings.Contains(fmt.Sprint(err), "delete "+logPath(path)) {
					t.Errorf("%s: got %v, want that the log is not the file's", what, err)
				}
			}
			for _, f := range []struct{ is, was string }{{path, c.file}, {logPath(path), l.log}} {
				is, _ := os.ReadFile(f.is)
				was, _ := os.ReadFile(f.was)
				if !bytes.Equal(is, was) {
					t.Errorf("%s was changed", f.is)
				}
			}
			if err := os.Remove(logPath(path)); err != nil {
				t.Fatal(err)
			}
			wantRuns(t, path, c.own)
		})
	}
}

func emptyDatabase(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := openOnce(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func openOnce(path string) error {
	w, err := Open(path)
	if err == nil {
		err = w.Close()
	}
	return err
}

func lookOnce(t *testing.T, path string) error {
	_, err := driverOf(t, "sqlite:"+filepath.ToSlash(path)).Pending(t.Context(), "sqlite:"+filepath.ToSlash(path))
	return err
}

func wantRuns(t *testing.T, path string, want int) {
	t.Helper()
	page, err := openAt(t, path).Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != want {
		t.Errorf("got %d runs, %v; want %d", len(page.Runs), err, want)
	}
}

// Whenever a process is killed, its file and its log belong together: with many checkpoints, a second process, and a schema
// that somebody else adds to.
func TestLogOfTheSameAge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	both := []*World{openAt(t, path, Options{CheckpointSize: 64 << 10}), openAt(t, path)}
	for i := range 60 {
		must(t, both[i%7/6], birthOf(fmt.Sprint("r", i), "w"))
		if i == 30 {
			script(t, path, "CREATE TABLE mine (a)")
		}
		copied := filepath.Join(t.TempDir(), "runs.db")
		copyTo(t, logPath(path), logPath(copied))
		copyTo(t, path, copied)
		if foreign, err := foreignLog(copied); foreign || err != nil {
			t.Fatalf("killed behind commit %d: foreign %t, %v", i, foreign, err)
		}
	}
}
