package cli

// This file holds which database a command is about, or which server in front of one.

import (
	"context"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// target is what a command works on. The flags and the environment say it, and locate finds it: until then nothing is
// found, and from then on foundURL and foundPlace are of the same database, or of the same server. Only this file
// touches its fields.
type target struct {
	sh         *shell
	flagDB     string // --db
	flagServer string // --server
	foundURL   string
	foundPlace string        // where it is, for people
	noServer   bool          // the command works on a database, and not on a server
	keepFor    time.Duration // for how long deliveries are known; 0: the default
}

func (t *target) flags(fl *pflag.FlagSet) {
	fl.StringVar(&t.flagDB, "db", "", "`database`: sqlite:PATH, a path, or postgres://user@host/name (env STEPWELL_DB, default sqlite:stepwell.db)")
	fl.StringVar(&t.flagServer, "server", "", "`URL` of a server, instead of a database: https://host (env STEPWELL_SERVER; its key is in STEPWELL_API_KEY)")
}

// url is that of the database, or the server, once it is known.
func (t *target) url() string { return t.foundURL }

// place is where it is, for people.
func (t *target) place() string { return t.foundPlace }

// named is the database that --db names; "": it names none.
func (t *target) named() string { return t.flagDB }

// shownServer is the server that --server names, for people; "": it names none.
func (t *target) shownServer() string { return world.ShownURL(t.flagServer) }

// setDatabase puts another database into the place of what --db names.
func (t *target) setDatabase(url string) { t.flagDB = url }

// given are the flags that name what is worked on, as they were given: for another program.
func given(t *target) (flags []string) {
	if t.flagServer != "" {
		flags = append(flags, "--server", t.flagServer)
	}
	if t.flagDB != "" {
		flags = append(flags, "--db", t.flagDB)
	}
	return flags
}

// keepDeliveries says for how long deliveries are known, where the database is opened.
func (t *target) keepDeliveries(d time.Duration) { t.keepFor = d }

func (t *target) openWorld(ctx context.Context, existing bool) (world.World, error) {
	return world.Open(ctx, t.foundURL, world.OpenOptions{Existing: existing, Now: t.sh.clock, KeepDeliveries: t.keepFor})
}

// locate finds the database, or the server in front of one: flag, then environment, then default.
func (t *target) locate() error {
	where, by, err := t.where()
	switch {
	case err != nil:
		return err
	case isServer(where):
		return t.locateServer(where, by)
	}
	if err := world.CheckPlace(where); err != nil {
		return usagef(validDB, "%s: %w", by, err)
	}
	if scheme.FindString(where) == "" {
		t.foundURL, t.foundPlace = "sqlite:"+url.PathEscape(where), where
		return nil
	}
	if _, err := world.DriverOf(where); err != nil {
		return usagef(validDB, "%s: this command does not support databases of the kind %q", by, strings.TrimSuffix(scheme.FindString(where), ":"))
	}
	t.foundURL, t.foundPlace = where, world.ShownURL(where)
	if isSQLite(where) {
		path, err := sqlite.PathOf(where)
		if err != nil {
			return usagef(validDB, "%s: %w", by, err)
		}
		t.foundPlace = path
	}
	return nil
}

// where is what the flags or the environment say, and which of them.
func (t *target) where() (where, by string, err error) {
	db, server := t.sh.getenv("STEPWELL_DB"), t.sh.getenv("STEPWELL_SERVER")
	if t.noServer {
		server = ""
	}
	switch {
	case t.flagDB != "" && t.flagServer != "":
		return "", "", usagef("give only one of them", "--db and --server: give a database, or a server in front of one")
	case t.flagDB != "":
		return t.flagDB, "--db", nil
	case t.flagServer != "":
		if !isServer(t.flagServer) {
			return "", "", usagef(validServer, "--server %q is not the URL of a server", world.ShownURL(t.flagServer))
		}
		return t.flagServer, "--server", nil
	case db != "" && server != "":
		return "", "", usagef("choose one, with --db or --server", "STEPWELL_DB and STEPWELL_SERVER are both set")
	case server != "":
		if !isServer(server) {
			return "", "", usagef(validServer, "STEPWELL_SERVER %q is not the URL of a server", world.ShownURL(server))
		}
		return server, "STEPWELL_SERVER", nil
	case db != "":
		return db, "STEPWELL_DB", nil
	}
	return defaultDB, "the default", nil
}

func isSQLite(where string) bool { return strings.EqualFold(scheme.FindString(where), "sqlite:") }

// databaseFiles are the files of a database that is one on this machine, once it is known.
func (t *target) databaseFiles() (files []string) {
	if !isSQLite(t.foundURL) {
		return nil
	}
	path, err := filepath.Abs(t.foundPlace)
	if err != nil {
		return nil
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", "-worker", "-bell", "-reserve"} {
		files = append(files, path+suffix)
	}
	return files
}

// locateServer takes a server for the database.
func (t *target) locateServer(where, by string) error {
	if t.noServer {
		return usagef("run it on the database itself, with --db", "%s is a server, and this command needs a database", by)
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return usagef(validServer, "%s is not the URL of a server", by)
	}
	t.foundURL, t.foundPlace = where, world.ShownURL(where)
	return nil
}

// forDatabase makes a command refuse a server: it is about the database itself.
func (t *target) forDatabase() { t.noServer = true }

// command is a command line that does what is said on the same database. It shows no password.
func (t *target) command(line string) string {
	switch {
	case t.flagServer != "":
		line += " --server " + shellWord(world.ShownURL(t.flagServer))
	case t.flagDB != "":
		db := t.flagDB
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
