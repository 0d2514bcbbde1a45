package sqlite

// Opening by URL, for command lines and world.Open.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

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
	return lacking(url, false)
}

// Migrate takes them, as every Open does; see [world.Migrator].
func (opener) Migrate(_ context.Context, url string) ([]world.Migration, error) {
	return lacking(url, true)
}

// lacking lists the steps that a file lacks, and takes them where take is set. A file that is not there lacks all, and is
// not made by looking.
func lacking(url string, take bool) (left []world.Migration, err error) {
	path, err := PathOf(url)
	if err != nil {
		return nil, err
	}
	version := 0
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if version, err = versionOf(path); err != nil {
			return nil, err
		}
	}
	for i := version; i < len(steps); i++ {
		left = append(left, world.Migration{Version: i + 1, Name: steps[i].name, SQL: "BEGIN;\n" + steps[i].script(i+1) + "COMMIT;\n"})
	}
	if !take || len(left) == 0 {
		return left, nil
	}
	w, err := Open(path)
	if err != nil {
		return nil, err
	}
	return left, w.Close()
}

// versionOf reads the version of a file's schema.
func versionOf(path string) (int, error) {
	if err := checkPath(path); err != nil {
		return 0, err
	}
	w := &World{path: path, opt: Options{}}
	if err := w.opt.defaults(); err != nil {
		return 0, err
	}
	w.dsn = dsn(path, &w.opt)
	if err := checkLog(path); err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	c, err := w.connect()
	if err != nil {
		return 0, err
	}
	version, err := checkSchema(c, len(steps))
	return version, errors.Join(classify(path, err), c.close())
}
