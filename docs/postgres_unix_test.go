//go:build unix

package docs_test

// The page about PostgreSQL: its SQL, on a database that a real run has written.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	_ "github.com/stepwell/stepwell/world/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

// TestPostgresSQL runs every block: queries must give rows, and grants must be what a role needs.
func TestPostgresSQL(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	w, err := stepwell.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	recordOn(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), pgtest.Shared(t).AdminURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	role := "docs_" + strings.TrimPrefix(c.Config().Database, "sw_")
	do := func(sql string) int64 {
		t.Helper()
		tag, err := c.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return tag.RowsAffected()
	}
	do("CREATE ROLE " + role)
	defer do(fmt.Sprintf("RESET ROLE; DROP OWNED BY %s; DROP ROLE %[1]s", role))
	n := 0
	for _, b := range blocks(t) {
		switch {
		case b.lang != "pgsql" || b.page == doorPage:
			continue
		case strings.HasPrefix(b.code, "GRANT"):
			do(strings.ReplaceAll(b.code, "TO app;", "TO "+role+";"))
			do("SET ROLE " + role) // the blocks that follow have what was granted
		default:
			if do(b.code) == 0 {
				t.Errorf("%s: no rows", b.at())
			}
		}
		n++
	}
	if n < 3 {
		t.Errorf("got %d blocks, want the page's", n)
	}
}
