package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// Names of schemas are quoted wherever they stand in SQL, or refused.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"it's", "50%", "a\nb", "a\r", "a\x00b", "$n$", "a$b", `back\slash`, "a\u0085b", "\xff", strings.Repeat("x", 64)} {
		if _, err := Open(t.Context(), "postgres://nobody@127.0.0.1:1/db", Options{Schema: bad}); !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), "schema") {
			t.Errorf("schema %q: got %v, want that it is refused", bad, err)
		}
	}
	for _, name := range []string{`own "name"`, "Groß und klein", "semi;colon -- /* x", "{schema}", "a.b", "select"} {
		t.Run(name, func(t *testing.T) {
			u := pgtest.URL(t)
			w := openAt(t, u, Options{Schema: name})
			must(t, w, birthOf("r", "w"))
			wk := join(t, w, 0, class1)
			must(t, w, eager("r2", "w", wk.ID))
			var id string
			quoted := pgx.Identifier{name}.Sanitize()
			if err := w.pool.QueryRow(t.Context(), "SELECT "+quoted+".start('w')").Scan(&id); err != nil {
				t.Fatal(err)
			}
			if ok := false; w.pool.QueryRow(t.Context(), "SELECT "+quoted+".signal($1, 'e')", id).Scan(&ok) != nil || !ok {
				t.Error("the run that SQL has started got no signal")
			}
			if page, err := w.Runs(t.Context(), world.RunQuery{}); err != nil || len(page.Runs) != 3 {
				t.Errorf("got %d runs, %v; want 3", len(page.Runs), err)
			}
			if err := w.Examine(t.Context(), func(string) {}, func(world.Finding) {}); err != nil {
				t.Errorf("doctor: %v", err)
			}
		})
	}
}
