package docs_test

// The documentation's queries, on a file that real runs have written.

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

type signup struct {
	Email string `json:"email"`
}

// onboard has what the queries ask for: an input, steps, a retry.
var onboard = stepwell.Define("onboard", func(ctx stepwell.Context, in signup) (string, error) {
	return stepwell.Step(ctx, "create-user", func(ctx context.Context) (string, error) {
		if stepwell.Info(ctx).Attempt == 1 {
			return "", errors.New("database: connection refused")
		}
		return "42", nil
	}, stepwell.Retry{Base: time.Millisecond})
})

// TestSQL runs every SQL block; each must give rows.
func TestSQL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	record(t, path)
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	n := 0
	for _, b := range blocks(t) {
		if b.lang != "sql" {
			continue
		}
		n++
		if rows, err := count(t, db, b.code); err != nil || rows == 0 {
			t.Errorf("%s: got %d rows, error %v", b.at(), rows, err)
		}
	}
	if n < 4 {
		t.Errorf("got %d SQL blocks, want the documentation's", n)
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int, err error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// record makes a file with one run that is over.
func record(t *testing.T, path string) {
	t.Helper()
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	recordOn(t, w)
}

// recordOn records it on any world.
func recordOn(t *testing.T, w world.World) {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{onboard}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx); stop() }()
	run, err := onboard.Start(ctx, app, signup{Email: "ada@example.com"})
	if err == nil {
		_, err = run.Result(ctx)
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
}
