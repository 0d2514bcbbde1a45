//go:build unix

package sqlite

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// identify tells which file a path names.
func identify(path string) (fileID, error) {
	var s unix.Stat_t
	for {
		switch err := unix.Stat(path, &s); err {
		case nil:
			return fileID{uint64(s.Dev), uint64(s.Ino)}, nil // narrower on some systems
		case unix.EINTR:
		default:
			return fileID{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
	}
}
