package main

// This file finds and opens the database that a command is about.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/postgres" // for --db
	"github.com/stepwell/stepwell/world/sqlite"
)

// database is what a command is about.
type database struct {
	world world.World
	app   *stepwell.App // a client: it runs nothing
}

const (
	defaultDB = "sqlite:stepwell.db"
	validDB   = "give sqlite:PATH, the path of a SQLite file, or postgres://user@host/database"
)

var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+:`) // a drive of Windows has one letter

// locate finds the database: flag, then environment, then default.
func (c *cli) locate() error {
	where, by := c.db, "--db"
	if where == "" {
		where, by = c.getenv("STEPWELL_DB"), "STEPWELL_DB"
	}
	if where == "" {
		where, by = defaultDB, "the default"
	}
	if scheme.FindString(where) == "" {
		c.url, c.place = "sqlite:"+url.PathEscape(where), where
		return nil
	}
	if _, err := world.DriverOf(where); err != nil {
		return usagef(validDB, "%s: this command does not know databases of the kind %q", by, strings.TrimSuffix(scheme.FindString(where), ":"))
	}
	c.url, c.place = where, withoutSecrets(where)
	if isSQLite(where) {
		path, err := sqlite.PathOf(where)
		if err != nil {
			return usagef(validDB, "%s: %w", by, err)
		}
		c.place = path
	}
	return nil
}

func isSQLite(where string) bool { return strings.EqualFold(scheme.FindString(where), "sqlite:") }

// withoutSecrets is a URL as it may be shown: without the password and without parameters, one of which may be another.
func withoutSecrets(where string) string {
	u, err := url.Parse(where)
	if err != nil {
		return scheme.FindString(where) + "…"
	}
	if schema := u.Query().Get("stepwell_schema"); schema != "" {
		u.RawQuery = url.Values{"stepwell_schema": {schema}}.Encode()
	} else {
		u.RawQuery = ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String()
}

// open opens a database that exists.
func (c *cli) open(ctx context.Context) (*database, error) { return c.openOrMake(ctx, true) }

func (c *cli) openOrMake(ctx context.Context, existing bool) (*database, error) {
	if err := c.locate(); err != nil {
		return nil, err
	}
	w, err := world.Open(ctx, c.url, world.OpenOptions{Existing: existing, Now: c.now})
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
	app, err := stepwell.New(w, stepwell.Config{Name: c.who})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &database{w, app}, nil
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
	return errors.Join(f(db), db.world.Close())
}

// command is a command line that does what is said on the same database. It shows no password.
func (c *cli) command(line string) string {
	if c.db != "" {
		db := c.db
		if scheme.FindString(db) != "" && !isSQLite(db) {
			db = withoutSecrets(db)
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
