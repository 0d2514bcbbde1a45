//go:build !linux

package sqlite

import "os"

// freeSpace cannot be told here.
func freeSpace(string) (int64, bool) { return 0, false }

// allocate makes a file so large, and its room the file's.
func allocate(f *os.File, size int64) error { return writeOut(f, size) }
