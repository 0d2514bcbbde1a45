package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a byte far behind the text of the file, which others may read meanwhile, or fails at once.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// writable reports whether a file is not marked as read-only.
func writable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}

// lockLog does nothing: the file beside the database cannot be deleted while it is open.
func lockLog(string) (*os.File, error) { return nil, nil }
