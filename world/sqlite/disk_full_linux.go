package sqlite

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeSpace is what is left on the volume of a file, in bytes.
func freeSpace(path string) (int64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true // narrower on some machines
}

// allocate makes a file so large, and its room the file's.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return writeOut(f, size)
	}
	return err
}
