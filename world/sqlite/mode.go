package sqlite

// This file says who may read a database's files.

import (
	"io/fs"
	"os"
	"runtime"
)

// ownerOnly is the mode of the files that are made: payloads, and tokens of hooks, are in them. SQLite gives its -wal and -shm files that of the database.
const ownerOnly fs.FileMode = 0o600

// create makes the file where there is none. One that is there, or cannot be made, is for SQLite to open: only that knows which locks it holds.
func create(path string) {
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, ownerOnly); err == nil {
		_ = f.Close()
	}
}

// openToOthers lists the files of a database that others than its owner may read or write, with their modes. Windows has no such modes.
func openToOthers(path string) (files []string) {
	if runtime.GOOS == "windows" {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Mode().Perm()&^ownerOnly != 0 {
			files = append(files, info.Name()+" "+info.Mode().Perm().String())
		}
	}
	return files
}
