//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stepwell/stepwell/world"
)

// lockFile locks a file for this open file description, or fails at once.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// writable reports whether this process may write a file. It does not open it: closing it would free the locks that SQLite holds on it
// elsewhere in this process.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// lockLog locks the write-ahead log. No process has a lock of SQLite on it, which closing it would free.
func lockLog(path string) (*os.File, error) {
	f, err := os.OpenFile(logPath(path), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: write-ahead log: %w", world.ErrStorage, err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
