package main

// This file finds and opens the database that a command is about.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

// database is the file that a command is about.
type database struct {
	world *sqlite.World
	app   *stepwell.App // a client: it runs nothing
}

const defaultDB = "sqlite:stepwell.db"

var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+:`) // a drive of Windows has one letter

// locate finds the path: flag, then environment, then default.
func (c *cli) locate() error {
	where, by := c.db, "--db"
	if where == "" {
		where, by = c.getenv("STEPWELL_DB"), "STEPWELL_DB"
	}
	if where == "" {
		where, by = defaultDB, "the default"
	}
	if !strings.HasPrefix(where, "sqlite:") {
		if s := scheme.FindString(where); s != "" {
			return usagef("give sqlite:PATH, or the path of a SQLite file", "%s %s: this command does not know databases of the kind %q", by, where, strings.TrimSuffix(s, ":"))
		}
		c.path = where
		return nil
	}
	path, err := sqlite.PathOf(where)
	if err != nil {
		return usagef("give sqlite:PATH, or the path of a SQLite file", "%s: %w", by, err)
	}
	c.path = path
	return nil
}

// open opens a database that exists.
func (c *cli) open() (*database, error) {
	if err := c.locate(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		return nil, &fault{exitNotFound, fmt.Errorf("there is no database %s", c.path),
			"a program makes it when it first runs: sqlite.Open(" + fmt.Sprintf("%q", c.path) + ")\n" +
				"  name another with --db sqlite:PATH or STEPWELL_DB, or see stepwell demo"}
	}
	w, err := sqlite.Open(c.path, sqlite.Options{Now: c.now})
	if err != nil {
		return nil, err
	}
	app, err := stepwell.New(w, stepwell.Config{Name: c.who})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &database{w, app}, nil
}

// with opens the database for f.
func (c *cli) with(f func(db *database) error) (err error) {
	db, err := c.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.world.Close()) }()
	return f(db)
}

// command is a command line that does what is said on the same database.
func (c *cli) command(line string) string {
	if c.db != "" {
		line += " --db " + shellWord(c.db)
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
