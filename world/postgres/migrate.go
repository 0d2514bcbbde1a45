package postgres

// The schema and its steps. The first step is schema.sql. A release that changes the schema adds a step, and changes no
// step of an earlier release.

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

//go:embed schema.sql
var schemaSQL string

// Migration is one step of the schema. Steps only add, so workers of one release run on its schema
// and on that of the next release.
type Migration = world.Migration

// Migrations returns all steps of this release, in order, for a schema; "" is the default.
func Migrations(schema string) []Migration {
	set(&schema, defaultSchema)
	return []Migration{{Version: 1, Name: "schema", SQL: inSchema(schemaSQL, schema)}}
}

var (
	hasSchema     = load("has_schema")
	createSchema  = load("create_schema")
	createVersion = load("create_version")
	lockVersion   = load("lock_version")
	readVersion   = load("read_version")
	noteVersion   = load("note_version")
	hasVersion    = load("has_version")
)

// ahead is how many versions newer than this release's the schema may be: additive steps harm nobody.
const ahead = 1

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// migrator takes a schema from one version to the next.
type migrator struct{ *database }

// version is the schema's version, 0 where there is none.
func (m *migrator) version(ctx context.Context, q querier) (version int, err error) {
	var there bool
	if err := q.QueryRow(ctx, m.sql(hasVersion), m.opt.Schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = q.QueryRow(ctx, m.sql(readVersion)).Scan(&version)
	return version, err
}

// pending lists the steps that the schema lacks. It refuses a schema that is too new.
func (m *migrator) pending(ctx context.Context, q querier) ([]Migration, error) {
	all := append(Migrations(m.opt.Schema), m.opt.later...)
	version, err := m.version(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case version > len(all)+ahead:
		return nil, fmt.Errorf("%w: %s: schema %q has version %d, but this release only knows up to %d: use a newer release", world.ErrStorage, m.place, m.opt.Schema, version, len(all)+ahead)
	}
	return all[min(version, len(all)):], nil
}

// migrate brings the schema to this release's version, or checks it where that was asked for.
func (m *migrator) migrate(ctx context.Context) error {
	left, err := m.pending(ctx, m.pool)
	switch {
	case err != nil || len(left) == 0:
		return err
	case m.opt.NoMigrate && left[0].Version == 1:
		return fmt.Errorf("%w: %s has no schema %q: run `stepwell migrate`", world.ErrNotFound, m.place, m.opt.Schema)
	case m.opt.NoMigrate:
		return fmt.Errorf("%w: %s: schema %q has version %d, this release needs %d: run `stepwell migrate`", world.ErrStorage, m.place, m.opt.Schema, left[0].Version-1, left[len(left)-1].Version)
	}
	_, err = m.walk(ctx)
	return err
}

// walk takes the steps that are left, in one transaction. One process at a time does it; the others wait.
func (m *migrator) walk(ctx context.Context) (applied []Migration, err error) {
	if err := m.makeSchema(ctx); err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, m.sql(lockVersion)); err != nil {
			return err
		}
		left, err := m.pending(ctx, tx)
		if err != nil {
			return err
		}
		for _, step := range left {
			if _, err := tx.Exec(ctx, step.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration %04d_%s: %w", step.Version, step.Name, err)
			}
			if _, err := tx.Exec(ctx, m.sql(noteVersion), step.Version, step.Name); err != nil {
				return err
			}
		}
		applied = left
		return nil
	})
	return applied, err
}

// makeSchema makes the schema and its table of versions where they are missing. A role that may not make schemas is well with one that is there.
// Where two processes make it at once, IF NOT EXISTS fails one of them.
func (m *migrator) makeSchema(ctx context.Context) error {
	var there bool
	if err := m.pool.QueryRow(ctx, m.sql(hasSchema), m.opt.Schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := m.pool.Exec(ctx, m.sql(createSchema)); err != nil && !madeMeanwhile(err) {
			return err
		}
	}
	if err := m.pool.QueryRow(ctx, m.sql(hasVersion), m.opt.Schema).Scan(&there); err != nil || there {
		return err
	}
	if _, err := m.pool.Exec(ctx, m.sql(createVersion)); err != nil && !madeMeanwhile(err) {
		return err
	}
	return nil
}

// madeMeanwhile reports whether a CREATE … IF NOT EXISTS failed because another process made the same.
func madeMeanwhile(err error) bool {
	return slices.Contains([]string{codeUnique, "42P06", "42P07", "42710"}, sqlState(err)) // 23505, duplicate schema, table, object
}

// Pending returns the steps that a database lacks, in order, each as a script to run by hand. It
// changes nothing.
func Pending(ctx context.Context, url string, options ...Options) (left []Migration, err error) {
	err = withoutSchema(ctx, url, options, func(m *migrator) error {
		if left, err = m.pending(ctx, m.pool); err != nil {
			return err
		}
		left = slices.Clone(left)
		for i := range left {
			left[i].SQL = m.script(&left[i])
		}
		return nil
	})
	return left, err
}

// Migrate brings a database up to date, and returns the steps that it applied. Concurrent calls
// wait for each other.
func Migrate(ctx context.Context, url string, options ...Options) (applied []Migration, err error) {
	err = withoutSchema(ctx, url, options, func(m *migrator) error {
		if left, err := m.pending(ctx, m.pool); err != nil || len(left) == 0 {
			return err
		}
		applied, err = m.walk(ctx)
		return err
	})
	return applied, err
}

// script is a step as a person runs it: all or nothing, noted as done, and to be run after the steps before it.
func (m *migrator) script(step *Migration) string {
	var b strings.Builder
	statement := func(sql string) { fmt.Fprintf(&b, "%s;\n", strings.TrimSuffix(strings.TrimSpace(sql), ";")) }
	statement("BEGIN")
	if step.Version == 1 {
		statement(m.sql(createSchema))
		statement(m.sql(createVersion))
	}
	statement(m.sql(lockVersion))
	statement(step.SQL)
	statement(strings.NewReplacer("$1", fmt.Sprint(step.Version), "$2", "'"+step.Name+"'").Replace(m.sql(noteVersion)))
	statement("COMMIT")
	return b.String()
}

// withoutSchema connects to a database whose schema may be missing, for f.
func withoutSchema(ctx context.Context, url string, options []Options, f func(m *migrator) error) error {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	w, err := prepare(url, o)
	if err != nil {
		return err
	}
	if err := w.connect(ctx); err != nil {
		return w.classify(err)
	}
	defer w.pool.Close()
	if err := f(&migrator{&w.database}); err != nil {
		return w.classify(err)
	}
	return nil
}

var dropSchema = load("drop_schema")

// Drop deletes a schema with all its runs, for demonstrations and tests. It refuses a schema that
// is not Stepwell's.
func Drop(ctx context.Context, url string, options ...Options) error {
	return withoutSchema(ctx, url, options, func(m *migrator) error {
		version, err := m.version(ctx, m.pool)
		if err != nil || version == 0 {
			return err
		}
		_, err = m.pool.Exec(ctx, m.sql(dropSchema))
		return err
	})
}
