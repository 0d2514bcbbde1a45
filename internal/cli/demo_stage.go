package cli

// This file is where the demo plays: a SQLite file, or a schema of a PostgreSQL database.

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world/postgres"
)

// stage is the demo's database and its directory.
type stage struct {
	dir   string
	url   string // of the database, for this process and the worker's
	what  string // it is
	limit time.Duration
	drop  func(context.Context) error // removes the database
}

// newStage makes nothing yet.
func newStage(c *cli, dir string) (*stage, error) {
	if c.named() == "" {
		file := url.URL{Path: filepath.ToSlash(filepath.Join(dir, demoDatabase))}
		return &stage{
			dir: dir, url: "sqlite:" + file.EscapedPath(), what: "a fresh SQLite file", limit: demoLimit,
			drop: func(context.Context) error { return nil }, // it goes with the directory
		}, nil
	}
	u, err := url.Parse(c.named())
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, usagef("it creates a SQLite file of its own; use --db only for postgres://user@host/database", "demo: it cannot use that --db")
	}
	schema := "stepwell_demo_" + strings.ToLower(rand.Text()[:8])
	q := u.Query()
	q.Set("stepwell_schema", schema)
	u.RawQuery = q.Encode()
	return &stage{
		dir: dir, url: u.String(), what: fmt.Sprintf("PostgreSQL, in the fresh schema %s", schema), limit: demoServerLimit,
		drop: func(ctx context.Context) error { return postgres.Drop(ctx, u.String()) },
	}, nil
}
