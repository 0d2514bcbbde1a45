package sqlite

import (
	"context"
	"database/sql/driver"
	"embed"
	"fmt"
	"io/fs"
	"path"

	"github.com/stepwell/stepwell/world"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// newest is what the migrations leave in an empty file, in one text: to walk through all of them costs many times as
// much, as SQLite reads the whole schema anew after each ALTER TABLE. A test writes it, and holds it against them.
//
//go:embed schema.sql
var newest string

// applicationID marks a file as ours: "SWL1".
const applicationID = 0x53574c31

var (
	schemaVersion = load("schema_version")
	application   = load("application_id")
	countTables   = load("count_tables")
	journalWAL    = load("journal_wal")
)

// fills are what SQL alone cannot do of a migration, by its version: it follows in the same transaction.
var fills = map[int]func(c *conn) error{3: fillAttributes}

// migrations are the texts of the schema's versions, from 1 on.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted: the names are zero-padded
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, name := range names {
		if want := fmt.Sprintf("%04d_", i+1); path.Base(name)[:5] != want {
			return nil, fmt.Errorf("migration %s: want %s…", name, want)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// migrate brings a file to this release's schema, in one transaction. A file that is not ours, or is newer, is left as it is.
func migrate(c *conn) error {
	texts, err := migrations()
	if err != nil {
		return err
	}
	version, err := checkSchema(c, len(texts))
	if err != nil {
		return err
	}
	if mode, err := pragma(c, journalWAL); err != nil {
		return err
	} else if mode != "wal" {
		return fmt.Errorf("%w: the file system does not allow a write-ahead log (journal mode %s); use a local disk", world.ErrStorage, mode)
	}
	if version == len(texts) {
		return nil
	}
	if _, err := c.exec(begin); err != nil {
		return err
	}
	if err := walk(c, texts); err != nil {
		_, _ = c.exec(rollback)
		return err
	}
	_, err = c.exec(commit)
	return err
}

// walk runs what another process has not run meanwhile.
func walk(c *conn, texts []string) error {
	version, err := checkSchema(c, len(texts))
	if err != nil {
		return err
	}
	if version == 0 {
		c.calls.Add(1)
		if _, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), newest, nil); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		return nil
	}
	for i := version; i < len(texts); i++ {
		c.calls.Add(1)
		if _, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), texts[i], nil); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
		if fill := fills[i+1]; fill != nil {
			if err := fill(c); err != nil {
				return fmt.Errorf("migration %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// checkSchema returns the version of the file's schema, 0 for an empty file.
func checkSchema(c *conn, newest int) (int, error) {
	var version, app, tables int64
	for s, to := range map[*statement]*int64{schemaVersion: &version, application: &app, countTables: &tables} {
		if _, err := c.one(s, func(r row) error { *to = r.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	switch {
	case app == applicationID && version > int64(newest):
		return 0, fmt.Errorf("%w: the file has schema version %d, but this release only knows %d; use a newer release", world.ErrStorage, version, newest)
	case app != applicationID && (app != 0 || version != 0 || tables != 0):
		return 0, fmt.Errorf("%w: this SQLite database belongs to another program; give another path", world.ErrStorage)
	}
	return int(version), nil
}

// pragma runs a statement that answers with one text.
func pragma(c *conn, s *statement) (text string, err error) {
	_, err = c.one(s, func(r row) error { text = r.text(0); return nil })
	return text, err
}
