package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// workerLock is what the worker process of a database keeps locked for as long as it lives; the operating system frees it, however the process ends. It is
// two files. One lies beside the database and names the process. The other is the write-ahead log, which is there while anybody has the database open: so the lock
// goes by the database itself, and holds where the first file was deleted. Nobody else locks either: SQLite's own locks are on the other two.
type workerLock struct{ side, log *os.File }

// errLocked: another process, or another World of this one, has the lock.
var errLocked = errors.New("locked")

// lockWorker makes this the worker process of a database, which is open.
func (w *World) lockWorker(name string) (*workerLock, error) {
	side, err := w.lockSide()
	if err != nil {
		return nil, err
	}
	log, err := lockLog(w.path)
	if err != nil {
		_ = side.Close()
		if errors.Is(err, errLocked) {
			err = w.workerExists(holderOf(logPath(w.path)))
		}
		return nil, err
	}
	// What follows is for people; the lock is held without it.
	_ = side.Truncate(0)
	_, _ = side.WriteAt(fmt.Appendf(nil, "%s (process %d)\n", name, os.Getpid()), 0)
	w.files.connectedSide()
	return &workerLock{side, log}, nil
}

// lockSide locks the file beside the database: the one that the path names then, should another have been put there meanwhile.
func (w *World) lockSide() (*os.File, error) {
	side := sidePath(w.path)
	for range 10 {
		f, err := os.OpenFile(side, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%w: worker lock %s: %w", world.ErrStorage, side, err)
		}
		if err := lockFile(f); err != nil {
			text, _ := io.ReadAll(io.LimitReader(f, 1024))
			_ = f.Close()
			if !errors.Is(err, errLocked) {
				return nil, fmt.Errorf("%w: worker lock %s: %w", world.ErrStorage, side, err)
			}
			return nil, w.workerExists(strings.TrimSpace(string(text)))
		}
		ours, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%w: worker lock %s: %w", world.ErrStorage, side, err)
		}
		if named, err := os.Stat(side); err == nil && os.SameFile(ours, named) {
			return f, nil
		}
		_ = f.Close()
	}
	return nil, fmt.Errorf("%w: worker lock %s: another process keeps replacing it", world.ErrStorage, side)
}

// worksElsewhere reports whether another process is the worker process of the database, which is open. It leaves nothing behind.
func (w *World) worksElsewhere() (bool, error) {
	if w.lock != nil {
		return false, nil
	}
	side, err := os.OpenFile(sidePath(w.path), os.O_RDWR, 0)
	if err == nil {
		err = lockFile(side)
		_ = side.Close()
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		var log *os.File
		if log, err = lockLog(w.path); log != nil {
			_ = log.Close()
		}
	}
	switch {
	case errors.Is(err, errLocked):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w: worker lock %s: %w", world.ErrStorage, sidePath(w.path), err)
	}
	return false, nil
}

func (w *World) workerExists(who string) error {
	if who == "" {
		who = "a process without a name"
	}
	return fmt.Errorf("database %s: %w: %s; a SQLite file has one worker process, stop it or use PostgreSQL", w.path, world.ErrWorkerExists, who)
}

// release frees the lock. The connections are closed after it: the log cannot be deleted everywhere while it is open.
func (l *workerLock) release() error {
	_ = l.side.Truncate(0)
	err := l.side.Close()
	if l.log != nil {
		err = errors.Join(err, l.log.Close())
	}
	return err
}
