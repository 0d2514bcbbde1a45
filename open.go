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

// Open opens the store that a URL names: sqlite:PATH, postgres://user@host/db, memory:, or the URL
// of a third-party store. The program must import the store's package, for example as _
// "github.com/stepwell/stepwell/world/postgres". Open brings the schema up to date. The caller
// closes the store. ctx limits only the opening.
//
// If url is empty, Open uses the environment variable STEPWELL_DB, which is a URL or the path of a
// SQLite file. If that is not set, it uses sqlite:stepwell.db. The command stepwell does the same.
// So one program runs on a file under stepwell dev and on PostgreSQL elsewhere.
//
// The environment variable STEPWELL_KEEP_DELIVERIES sets how long a [DeliveryID] is known at least,
// for example 48h or 7d. Default 24 h. Use the same value for all programs of a database.
//
// To set options of a store, use its own package: sqlite.Open or postgres.Open.
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
