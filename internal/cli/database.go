package cli

// This file finds and opens the database that a command is about.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/postgres" // for --db
)

// database is what a command is about.
type database struct {
	world world.World
	app   *stepwell.App // a client: it runs nothing
	ring  *keyring.Ring // of the environment; nil: none
}

const (
	defaultDB = "sqlite:stepwell.db"
	validDB   = "give sqlite:PATH, the path of a SQLite file, or postgres://user@host/database"
)

// validKeys is what is said where the keys of the environment make no sense.
const validKeys = "make a key:  stepwell keys new ID"

var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+:`) // a drive of Windows has one letter

// openOrMake opens a database, and makes it where there is none unless it is to exist.
func (t *target) openOrMake(ctx context.Context, existing bool) (*database, error) {
	if err := t.locate(); err != nil {
		return nil, err
	}
	if isServer(t.url()) {
		return t.openServer(ctx)
	}
	w, err := t.openWorld(ctx, existing)
	switch {
	case errors.Is(err, world.ErrNotFound) && isSQLite(t.url()):
		return nil, &fault{exitNotFound, fmt.Errorf("there is no database %s", t.place()),
			"a program creates it when it first runs: sqlite.Open(" + fmt.Sprintf("%q", t.place()) + ")\n" +
				"  name another with --db URL or STEPWELL_DB, or see stepwell demo"}
	case errors.Is(err, world.ErrNotFound):
		return nil, &fault{exitNotFound, err, "a program creates it when it first runs, or:  " + t.command("migrate")}
	case err != nil:
		return nil, err
	}
	return t.clientOf(w)
}

// clientOf makes an App that runs nothing.
func (t *target) clientOf(w world.World) (*database, error) {
	ring, err := keyring.FromEnv(t.sh.getenv)
	if err != nil {
		return nil, errors.Join(usagef(validKeys, "%w", err), w.Close())
	}
	app, err := stepwell.New(w, stepwell.Config{Name: t.sh.who, Encryption: ring, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &database{w, app, ring}, nil
}

// with opens the database for f.
func (t *target) with(ctx context.Context, f func(db *database) error) error {
	db, err := t.openOrMake(ctx, true)
	return t.use(db, err, f)
}

// withNew opens the database for f, and makes it where there is none.
func (t *target) withNew(ctx context.Context, f func(db *database) error) error {
	db, err := t.openOrMake(ctx, false)
	return t.use(db, err, f)
}

func (t *target) use(db *database, err error, f func(db *database) error) error {
	if err != nil {
		return away(t.url(), err)
	}
	return errors.Join(away(t.url(), f(db)), db.app.Close(), db.world.Close())
}

// away says what to do where a PostgreSQL server does not answer.
func away(where string, err error) error {
	var said *fault
	if _, refused := errors.AsType[*pgconn.ConnectError](err); !refused || errors.As(err, &said) || isServer(where) {
		return err
	}
	next := "is it running, and at that address?"
	if u, parsed := url.Parse(where); parsed == nil && u.Hostname() != "" {
		next += "  pg_isready -h " + shellWord(u.Hostname()) + " -p " + cmp.Or(u.Port(), "5432")
	}
	return &fault{exitFailure, err, next + "\n  nothing was changed; workers continue by themselves when it is back"}
}
