package sqlite

import (
	"errors"
	"fmt"
	"strings"

	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stepwell/stepwell/world"
)

// resultCode returns SQLite's primary result code of an error, or 0 where it is none of SQLite's.
func resultCode(err error) int {
	if e, ok := errors.AsType[*driversqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// classify turns an error of SQLite into one of ours that says what to do; others are left as they are. The driver's text is kept
// out: it names what users of a world need not know.
func classify(path string, err error) error {
	if err == nil || errors.Is(err, world.ErrStorage) {
		return err
	}
	storage := func(what string) error {
		return fmt.Errorf("%w: database %s: %s", world.ErrStorage, path, what)
	}
	switch code := resultCode(err); code {
	case 0:
		return err
	case lib.SQLITE_FULL:
		return &fullError{path}
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return storage("read-only: nothing was written; make the file and its directory writable")
	case lib.SQLITE_IOERR:
		return storage("input or output error; check the disk, then open the database again")
	case lib.SQLITE_CORRUPT:
		return storage("the file is damaged; stop writing to it and restore a backup")
	case lib.SQLITE_NOTADB:
		return storage("not a SQLite database; give another path")
	case lib.SQLITE_CANTOPEN:
		return storage("cannot be opened; check that its directory exists and that the path is a file that may be written")
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return storage("another process holds its lock for too long; nothing was written, try again")
	case lib.SQLITE_NOMEM:
		return storage("out of memory; nothing was written")
	case lib.SQLITE_TOOBIG:
		return fmt.Errorf("%w: a value is larger than SQLite takes; nothing was written", world.ErrTooLarge)
	default:
		statement, _, _ := strings.Cut(err.Error(), ":") // each statement's error begins with its name
		return fmt.Errorf("%w: database %s: %s: SQLite result %d: %s", world.ErrStorage, path, statement, code, driversqlite.ErrorCodeString[code])
	}
}
