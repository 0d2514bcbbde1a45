package sqlite

// Opening by URL, for command lines and world.Open.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/stepwell/stepwell/world"
)

func init() { world.Register("sqlite", opener{}) }

type opener struct{}

var _ world.Migrator = opener{}

// Open opens a World by a URL like sqlite:runs.db; see [world.Driver].
func (opener) Open(_ context.Context, url string, o world.OpenOptions) (world.World, error) {
	path, err := PathOf(url)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); o.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no database %s", world.ErrNotFound, path)
	}
	w, err := Open(path, Options{Now: o.Now, KeepDeliveries: o.KeepDeliveries})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Pending lists the steps that a file lacks; see [world.Migrator].
func (opener) Pending(_ context.Context, url string) ([]world.Migration, error) {
	return steps(url, false)
}

// Migrate takes them, as every Open does; see [world.Migrator].
func (opener) Migrate(_ context.Context, url string) ([]world.Migration, error) {
	return steps(url, true)
}

// steps lists what a file lacks, and does it where take is set. A file that is not there lacks all, and is not made by looking.
func steps(url string, claim bool) (left []world.Migration, err error) {
	path, err := PathOf(url)
	if err != nil {
		return nil, err
	}
	texts, err := migrations()
	if err != nil {
		return nil, err
	}
	version := 0
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if version, err = versionOf(path, len(texts)); err != nil {
			return nil, err
		}
	}
	files, err := migrationFiles.ReadDir("migrations") // in the same order
	if err != nil {
		return nil, err
	}
	for i := version; i < len(texts); i++ {
		_, name, _ := strings.Cut(strings.TrimSuffix(files[i].Name(), ".sql"), "_")
		left = append(left, world.Migration{Version: i + 1, Name: name, SQL: "BEGIN;\n" + texts[i] + "COMMIT;\n"})
	}
	if !claim || len(left) == 0 {
		return left, nil
	}
	w, err := Open(path)
	if err != nil {
		return nil, err
	}
	return left, w.Close()
}

// versionOf reads the version of a file's schema.
func versionOf(path string, newest int) (int, error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	w := &World{path: path, opt: Options{}}
	if err := w.opt.defaults(); err != nil {
		return 0, err
	}
	w.dsn = dsn(path, &w.opt)
	c, err := w.connect()
	if err != nil {
		return 0, err
	}
	version, err := checkSchema(c, newest)
	return version, errors.Join(classify(path, err), c.close())
}
