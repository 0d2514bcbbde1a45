package postgres

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// A database whose transactions are serializable by default: sessions say what they need, and behind a pooler, where they cannot, Open says what to do.
func TestIsolationOfTheRole(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	parsed, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, pgtest.Shared(t).AdminURL(u), fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = 'serializable'", strings.TrimPrefix(parsed.Path, "/")))
	w := openAt(t, u)
	var got string
	if err := w.pool.QueryRow(t.Context(), "SHOW transaction_isolation").Scan(&got); err != nil || got != "read committed" {
		t.Errorf("sessions are %q, %v; want read committed", got, err)
	}
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	_, err = Open(t.Context(), pgtest.Pooler(t, pgtest.Shared(t)).URL(u))
	wantErr(t, err, world.ErrStorage)
	if !strings.Contains(err.Error(), "ALTER ROLE") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
}
