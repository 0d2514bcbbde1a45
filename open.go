package stepwell

// This file opens worlds by URL.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// Open opens the world that a URL names: sqlite:PATH, postgres://user@host/db, memory:, or what a third party's world calls itself. A
// program knows those whose packages it imports, by name or as _ "github.com/stepwell/stepwell/world/postgres". The schema is brought up to
// date. The world is the caller's to close. ctx bounds the opening alone.
//
// A program that always has the same kind of database opens it with its own package, sqlite.Open or postgres.Open, which take options.
func Open(ctx context.Context, url string) (world.World, error) {
	return world.Open(ctx, url)
}
