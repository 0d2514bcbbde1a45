package sqlite

// A database is three files, and a fourth that is locked: what was opened must be what the path still names. A file that is deleted, moved or
// replaced while it is open goes on to take what is written, and nobody finds it again. So each group looks before it is acknowledged, and so does each read; while a
// worker is here somebody looks all the time. Windows refuses to delete or move a file that is open: nothing is looked at there.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// The files beside a database.
func logPath(path string) string   { return path + "-wal" }
func indexPath(path string) string { return path + "-shm" }
func sidePath(path string) string  { return path + "-worker" }

// resolve is the path of a file without symbolic links, as SQLite itself resolves it: what lies beside a file lies beside that one. The file need not be there
// yet, nor what a link names.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range mostLinks {
		real, err := filepath.EvalSymlinks(abs)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		abs = filepath.Join(dir, filepath.Base(abs))
		to, err := os.Readlink(abs)
		if err != nil {
			return abs, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		abs = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// mostLinks is how many links to nothing are followed, as by most systems.
const mostLinks = 40

// fileID tells files apart while one of them is open. The zero fileID is that of no file.
type fileID struct{ device, inode uint64 }

// file is one that must stay what it is.
type file struct {
	path string
	id   atomic.Pointer[fileID] // nil: not known
}

// note takes what the path names now for the file.
func (f *file) note() {
	if id, err := identify(f.path); err == nil {
		f.id.Store(&id)
	}
}

// gone reports whether the path names the file no more. What cannot be looked at is believed.
func (f *file) gone() bool {
	known := f.id.Load()
	if known == nil {
		return false
	}
	id, err := identify(f.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && id != *known
}

// files are those that a World has open.
type files struct {
	main, log, index, side file
	lost                   atomic.Pointer[error] // why nothing more is done
	tell                   func(why error)       // is called when it is known
}

func (f *files) begin(path string, tell func(why error)) {
	f.tell = tell
	f.main.path, f.log.path, f.index.path, f.side.path = path, logPath(path), indexPath(path), sidePath(path)
}

// connected notes which files a connection has opened. The database stays the one that was opened first.
func (f *files) connected() error {
	if f.main.id.Load() == nil {
		f.main.note()
	} else if f.main.gone() {
		return f.lose(&f.main)
	}
	f.log.note()
	f.index.note()
	return nil
}

// connectedSide notes which file the worker process locks.
func (f *files) connectedSide() { f.side.note() }

// whyLost says why nothing more is done, nil as long as it is.
func (f *files) whyLost() error {
	if lost := f.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// look reports an error once one of them is not the one that is open.
func (f *files) look(all ...*file) error {
	if err := f.whyLost(); err != nil {
		return err
	}
	for _, one := range all {
		if one.gone() {
			return f.lose(one)
		}
	}
	return nil
}

// lose notes that a file is gone, and says so.
func (f *files) lose(one *file) error {
	happened := "was replaced by another"
	if _, err := identify(one.path); errors.Is(err, fs.ErrNotExist) {
		happened = "was deleted or moved"
	}
	advice := "stop every program that has the database open, put the file back, and start again"
	if one == &f.side {
		advice = "it keeps other workers out, so this one stops; start it again, and leave that file in place"
	}
	return f.stop(fmt.Errorf("%w: %w: %s %s while it was open; nothing more is written: %s", world.ErrStorage, world.ErrReplaced, one.path, happened, advice))
}

// stop ends all that is read and written, for a reason. The first one stands.
func (f *files) stop(why error) error {
	if f.lost.CompareAndSwap(nil, &why) {
		f.tell(why)
	}
	return *f.lost.Load()
}

// lookAtAll looks at all files.
func (w *World) lookAtAll() error {
	if w.isClosed() {
		return world.ErrClosed
	}
	f := &w.files
	return f.look(&f.main, &f.log, &f.index, &f.side)
}

// lookAtMain looks at the file itself.
func (w *World) lookAtMain() error { return w.files.look(&w.files.main) }

// lookEvery is the time between looks at the files by a world with a worker.
const lookEvery = 250 * time.Millisecond
