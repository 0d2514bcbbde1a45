package stepwell

// This file opens worlds by URL.

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Open opens the world that a URL names: sqlite:PATH, postgres://user@host/db, memory:, or what a third party's world calls itself. A
// program knows those whose packages it imports, by name or as _ "github.com/stepwell/stepwell/world/postgres". The schema is brought up to
// date. The world is the caller's to close. ctx bounds the opening alone.
//
// Where url is empty the environment names it: STEPWELL_DB, a URL or the path of a SQLite file, or else sqlite:stepwell.db, as for the command
// stepwell. So one program runs on a file under stepwell dev and on PostgreSQL elsewhere.
//
// STEPWELL_KEEP_DELIVERIES says for how long a delivery is known when it comes again, at least, like 48h or 7d; default 24 h: see [DeliveryID]. All programs of a
// database should say the same.
//
// A program that always has the same kind of database opens it with its own package, sqlite.Open or postgres.Open, which take options.
func Open(ctx context.Context, url string) (world.World, error) {
	if url == "" {
		url = databaseOf(os.Getenv("STEPWELL_DB"))
	}
	keep := time.Duration(0)
	if v := os.Getenv(keepVariable); v != "" {
		var ok bool
		if keep, ok = span(v); !ok {
			return nil, fmt.Errorf("%w: %s=%.100q: want %s", ErrInvalid, keepVariable, v, aSpan)
		}
	}
	return world.Open(ctx, url, world.OpenOptions{KeepDeliveries: keep})
}

// keepVariable sets how long deliveries are known, where a world is opened by its URL.
const keepVariable = "STEPWELL_KEEP_DELIVERIES"

// hasScheme tells a URL from a path; a drive of Windows has one letter.
var hasScheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+:`)

// databaseOf is the URL of what STEPWELL_DB names.
func databaseOf(named string) string {
	switch {
	case named == "":
		return "sqlite:stepwell.db"
	case hasScheme.MatchString(named):
		return named
	}
	return "sqlite:" + url.PathEscape(named)
}
