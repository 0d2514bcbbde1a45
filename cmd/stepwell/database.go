package main

// This file finds and opens the database that a command is about.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/postgres" // for --db
	"github.com/stepwell/stepwell/world/sqlite"
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

// locate finds the database, or the server in front of one: flag, then environment, then default.
func (c *cli) locate() error {
	where, by, err := c.where()
	switch {
	case err != nil:
		return err
	case isServer(where):
		return c.locateServer(where, by)
	}
	if err := world.CheckPlace(where); err != nil {
		return usagef(validDB, "%s: %w", by, err)
	}
	if scheme.FindString(where) == "" {
		c.url, c.place = "sqlite:"+url.PathEscape(where), where
		return nil
	}
	if _, err := world.DriverOf(where); err != nil {
		return usagef(validDB, "%s: this command does not know databases of the kind %q", by, strings.TrimSuffix(scheme.FindString(where), ":"))
	}
	c.url, c.place = where, world.ShownURL(where)
	if isSQLite(where) {
		path, err := sqlite.PathOf(where)
		if err != nil {
			return usagef(validDB, "%s: %w", by, err)
		}
		c.place = path
	}
	return nil
}

// where is what the flags or the environment say, and which of them.
func (c *cli) where() (where, by string, err error) {
	db, server := c.getenv("STEPWELL_DB"), c.getenv("STEPWELL_SERVER")
	if c.onDatabase {
		server = ""
	}
	switch {
	case c.db != "" && c.remote != "":
		return "", "", usagef("give one of them", "--db and --server: it is a database, or a server in front of one")
	case c.db != "":
		return c.db, "--db", nil
	case c.remote != "":
		if !isServer(c.remote) {
			return "", "", usagef(validServer, "--server %q is no URL of a server", world.ShownURL(c.remote))
		}
		return c.remote, "--server", nil
	case db != "" && server != "":
		return "", "", usagef("say which, with --db or --server", "STEPWELL_DB and STEPWELL_SERVER are both set")
	case server != "":
		if !isServer(server) {
			return "", "", usagef(validServer, "STEPWELL_SERVER %q is no URL of a server", world.ShownURL(server))
		}
		return server, "STEPWELL_SERVER", nil
	case db != "":
		return db, "STEPWELL_DB", nil
	}
	return defaultDB, "the default", nil
}

func isSQLite(where string) bool { return strings.EqualFold(scheme.FindString(where), "sqlite:") }

// databaseFiles are the files of a database that is one on this machine, once it is known.
func (c *cli) databaseFiles() (files []string) {
	if !isSQLite(c.url) {
		return nil
	}
	path, err := filepath.Abs(c.place)
	if err != nil {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", "-worker", "-bell", "-reserve"} {
		files = append(files, path+suffix)
	}
	return files
}

// open opens a database that exists.
func (c *cli) open(ctx context.Context) (*database, error) { return c.openOrMake(ctx, true) }

func (c *cli) openOrMake(ctx context.Context, existing bool) (*database, error) {
	if err := c.locate(); err != nil {
		return nil, err
	}
	if isServer(c.url) {
		return c.openServer(ctx)
	}
	w, err := world.Open(ctx, c.url, world.OpenOptions{Existing: existing, Now: c.clock, KeepDeliveries: c.deliveries})
	switch {
	case errors.Is(err, world.ErrNotFound) && isSQLite(c.url):
		return nil, &fault{exitNotFound, fmt.Errorf("there is no database %s", c.place),
			"a program makes it when it first runs: sqlite.Open(" + fmt.Sprintf("%q", c.place) + ")\n" +
				"  name another with --db URL or STEPWELL_DB, or see stepwell demo"}
	case errors.Is(err, world.ErrNotFound):
		return nil, &fault{exitNotFound, err, "a program makes it when it first runs, or:  " + c.command("migrate")}
	case err != nil:
		return nil, err
	}
	return c.clientOf(w)
}

// clientOf makes an App that runs nothing.
func (c *cli) clientOf(w world.World) (*database, error) {
	ring, err := keyring.FromEnv(c.getenv)
	if err != nil {
		return nil, errors.Join(usagef(validKeys, "%w", err), w.Close())
	}
	app, err := stepwell.New(w, stepwell.Config{Name: c.who, Encryption: ring, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &database{w, app, ring}, nil
}

// with opens the database for f.
func (c *cli) with(ctx context.Context, f func(db *database) error) error {
	db, err := c.open(ctx)
	return c.use(db, err, f)
}

// withNew opens the database for f, and makes it where there is none.
func (c *cli) withNew(ctx context.Context, f func(db *database) error) error {
	db, err := c.openOrMake(ctx, false)
	return c.use(db, err, f)
}

func (c *cli) use(db *database, err error, f func(db *database) error) error {
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.app.Close(), db.world.Close())
}

// command is a command line that does what is said on the same database. It shows no password.
func (c *cli) command(line string) string {
	switch {
	case c.remote != "":
		line += " --server " + shellWord(world.ShownURL(c.remote))
	case c.db != "":
		db := c.db
		if scheme.FindString(db) != "" && !isSQLite(db) {
			db = world.ShownURL(db)
		}
		line += " --db " + shellWord(db)
	}
	return "stepwell " + line
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord quotes a word for a shell, so that it can be pasted.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
