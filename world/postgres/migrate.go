package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one step of the schema. Steps only add: a worker of one release runs on its own schema and on the next.
type Migration struct {
	Version int
	Name    string
	SQL     string // for the schema that was asked for
}

// Migrations are all steps of this release, in order, for a schema ("": the default).
func Migrations(schema string) ([]Migration, error) {
	set(&schema, "stepwell")
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted: the names are zero-padded
	if err != nil {
		return nil, err
	}
	var all []Migration
	for i, name := range names {
		number, rest, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		if number != fmt.Sprintf("%04d", i+1) {
			return nil, fmt.Errorf("migration %s: want %04d_…", name, i+1)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: i + 1, Name: rest, SQL: inSchema(string(text), schema)})
	}
	return all, nil
}

var (
	createSchema  = load("create_schema")
	createVersion = load("create_version")
	lockVersion   = load("lock_version")
	readVersion   = load("read_version")
	noteVersion   = load("note_version")
	hasVersion    = load("has_version")
)

// ahead is how many versions newer than this release's the schema may be: additive steps harm nobody.
const ahead = 1

// version is the schema's version, 0 where there is none.
func (w *World) version(ctx context.Context, q querier) (version int, err error) {
	var there bool
	if err := q.QueryRow(ctx, w.sql(hasVersion), w.opt.Schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, w.sql(readVersion)).Scan(&version)
	return version, err
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// migrate brings the schema to this release's version, or checks it where that was asked for. One process at a time does it; the others wait.
func (w *World) migrate(ctx context.Context) error {
	all, err := Migrations(w.opt.Schema)
	if err != nil {
		return err
	}
	version, err := w.version(ctx, w.pool)
	switch {
	case err != nil:
		return err
	case version > len(all)+ahead:
		return fmt.Errorf("%w: %s: schema %q has version %d, this release knows up to %d: use a newer release", world.ErrStorage, w.place, w.opt.Schema, version, len(all)+ahead)
	case version >= len(all):
		return nil
	case w.opt.NoMigrate:
		return fmt.Errorf("%w: %s: schema %q has version %d, this release needs %d: run `stepwell migrate`", world.ErrStorage, w.place, w.opt.Schema, version, len(all))
	}
	if _, err := w.pool.Exec(ctx, w.sql(createSchema)); err != nil && sqlState(err) != codeUnique { // another process made it just now
		return err
	}
	if _, err := w.pool.Exec(ctx, w.sql(createVersion)); err != nil && sqlState(err) != codeUnique {
		return err
	}
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, w.sql(lockVersion)); err != nil {
			return err
		}
		if version, err = w.version(ctx, tx); err != nil {
			return err
		}
		for _, m := range all[min(version, len(all)):] {
			if _, err := tx.Exec(ctx, m.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
			}
			if _, err := tx.Exec(ctx, w.sql(noteVersion), m.Version, m.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
