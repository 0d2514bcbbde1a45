//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
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
