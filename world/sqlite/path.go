package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stepwell/stepwell/world"
)

// checkPath refuses, before anything is created, what cannot be the path of a database.
func checkPath(path string) error {
	bad := func(what string) error { return fmt.Errorf("%w: database %s: %s", world.ErrStorage, path, what) }
	if path == "" || path == ":memory:" {
		return fmt.Errorf("%w: database path %q: give the path of a file", world.ErrInvalid, path)
	}
	if err := world.CheckPlace(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return bad("its directory does not exist; create " + dir)
	case err != nil:
		return bad(err.Error())
	case !info.IsDir():
		return bad(dir + " is not a directory")
	}
	if name, network := networkFS(dir); network {
		return bad("it is on a network file system (" + name + "), where locks and syncs cannot be trusted; use a local disk")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return bad(err.Error())
	case info.IsDir():
		return bad("it is a directory; give the path of a file")
	case !info.Mode().IsRegular():
		return bad("it is not a regular file")
	}
	if !writable(path) {
		return bad("it may not be written; make the file and its directory writable")
	}
	return nil
}
