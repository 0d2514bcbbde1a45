package stepwell

// This file makes the system forget a file.

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// forget writes a file to the disk and drops it from the system's cache.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}
