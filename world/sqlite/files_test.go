package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// newWorker is one that has not joined.
func newWorker(name string) world.Worker {
	return world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: name, Classes: []world.Class{class1}}
}

// A second worker is refused by whatever name it knows the file, and also where the file beside it is gone that says who the first one is.
func TestTheLockGoesByTheFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		to   func(path string) (string, error)
	}{
		{"a symbolic link", func(path string) (string, error) {
			link := filepath.Join(filepath.Dir(path), "link.db")
			return link, os.Symlink(path, link)
		}},
		{"a relative symbolic link elsewhere", func(path string) (string, error) {
			dir := filepath.Join(filepath.Dir(path), "dir")
			link := filepath.Join(dir, "link.db")
			return link, errors.Join(os.Mkdir(dir, 0o700), os.Symlink(filepath.Join("..", filepath.Base(path)), link))
		}},
		{"a symbolic link to its directory", func(path string) (string, error) {
			link := filepath.Join(filepath.Dir(path), "here")
			return filepath.Join(link, filepath.Base(path)), os.Symlink(".", link)
		}},
		{"the lock was deleted", func(path string) (string, error) { return path, os.Remove(sidePath(path)) }},
		{"the lock was replaced", func(path string) (string, error) {
			return path, errors.Join(os.Remove(sidePath(path)), os.WriteFile(sidePath(path), nil, 0o600))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			a := openAt(t, path)
			wk := join(t, a, 0, class1)
			must(t, a, eager("r", "w", wk.ID))
			again, err := tt.to(path)
			if err != nil {
				t.Fatal(err)
			}
			b := openAt(t, again)
			if _, err := b.Join(t.Context(), newWorker("second")); !errors.Is(err, world.ErrWorkerExists) {
				t.Fatalf("got error %v, want ErrWorkerExists", err)
			}
			if run, err := a.Run(t.Context(), "r"); err == nil && run.Claims != 1 { // the first may have stopped by now
				t.Errorf("got %d claims, want the first worker's alone", run.Claims)
			}
		})
	}
}

// A link to a file that is to be made leads to the same files as the file's own name.
func TestALinkToNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "runs.db"), filepath.Join(dir, "link.db")
	if err := os.Symlink("runs.db", link); err != nil {
		t.Fatal(err)
	}
	a := openAt(t, link)
	join(t, a, 0, class1)
	if _, err := openAt(t, path).Join(t.Context(), newWorker("second")); !errors.Is(err, world.ErrWorkerExists) {
		t.Fatalf("got error %v, want ErrWorkerExists", err)
	}
}

// Once a file is deleted, moved or replaced nothing is acknowledged any more, and the error says what happened.
func TestLostFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, suffix, happened string }{
		{"the file", "", "deleted or moved"},
		{"the log", "-wal", "deleted or moved"},
		{"the index", "-shm", "deleted or moved"},
		{"the lock", "-worker", "deleted or moved"},
		{"the file", "", "replaced"},
		{"the lock", "-worker", "replaced"},
	} {
		t.Run(tt.name+" "+tt.happened, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			w, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			wk := join(t, w, 0, class1)
			must(t, w, eager("r", "w", wk.ID))
			if err := os.Rename(path+tt.suffix, path+".moved"); err != nil {
				t.Fatal(err)
			}
			if tt.happened == "replaced" {
				if err := os.WriteFile(path+tt.suffix, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.suffix != "" { // that the file itself is another is seen by the commit
				_, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
				wantErr(t, err, world.ErrReplaced)
			}
			for range 2 {
				_, err = w.Commit(t.Context(), stepCommit("r", wk.ID, 0))
				if !errors.Is(err, world.ErrReplaced) || !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), path+tt.suffix+" was "+tt.happened) {
					t.Fatalf("got error %v, want ErrReplaced that says %s", err, tt.happened)
				}
			}
			_, err = w.Run(t.Context(), "r")
			wantErr(t, err, world.ErrReplaced)
			_, err = w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 1})
			wantErr(t, err, world.ErrReplaced)
			_, err = w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
			wantErr(t, err, world.ErrReplaced)
		})
	}
}

// A process without a worker looks too: it neither writes to a file that nobody finds again, nor reads from it.
func TestLostFileOfAClient(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	must(t, w, birthOf("r", "w"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "runs.db")
	other, err := Open(elsewhere)
	if err := errors.Join(err, other.Close(), os.Rename(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	_, err = w.Run(t.Context(), "r")
	wantErr(t, err, world.ErrReplaced)
	_, err = w.Commit(t.Context(), birthOf("s", "w"))
	wantErr(t, err, world.ErrReplaced)
	// Closing it deletes nothing of the other file's.
	b := openAt(t, path)
	must(t, b, birthOf("t", "w"))
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	must(t, b, birthOf("u", "w"))
	if err := b.lookAtAll(); err != nil {
		t.Error(err)
	}
}
