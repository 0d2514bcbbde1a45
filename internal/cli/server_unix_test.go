//go:build unix

package cli

// The page about the server on PostgreSQL; its test cluster runs on Unix alone.

import (
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// TestServerWalkPostgres executes the page about the server.
func TestServerWalkPostgres(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	w, err := world.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	addr := served(t, nil, "--db", database)
	walkPage(t, addr, serverPage, 25)
	walkPage(t, addr, filepath.Join("..", "..", "docs", "webhooks.md"), 6)
}
