package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// workerLock is a side file that the worker process of a database keeps locked for as long as it lives; the operating system frees
// it, however the process ends. The file names the process.
type workerLock struct{ f *os.File }

// errLocked: another process, or another World of this one, has the lock.
var errLocked = errors.New("locked")

// lockWorker makes this the worker process of a database.
func lockWorker(path, name string) (*workerLock, error) {
	side := path + "-worker"
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
		who := strings.TrimSpace(string(text))
		if who == "" {
			who = "a process that does not give its name"
		}
		return nil, fmt.Errorf("database %s: %w: %s; a SQLite file has one worker process, stop it or use PostgreSQL", path, world.ErrWorkerExists, who)
	}
	// What follows is for people; the lock is held without it.
	_ = f.Truncate(0)
	_, _ = f.WriteAt(fmt.Appendf(nil, "%s (process %d)\n", name, os.Getpid()), 0)
	return &workerLock{f: f}, nil
}

func (l *workerLock) release() error {
	_ = l.f.Truncate(0)
	return l.f.Close() // frees the lock
}
