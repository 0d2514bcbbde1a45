package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestBodyEndsTransaction: a body that commits or rolls back by SQL fails its attempt; nothing of ours is written. Savepoints are its own.
func TestBodyEndsTransaction(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Conns: 1})
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	before := countRows(t, w, "log")
	for _, body := range []string{
		"COMMIT", "COMMIT AND CHAIN", "ROLLBACK", "ROLLBACK AND CHAIN", "COMMIT; BEGIN", "SAVEPOINT a; COMMIT",
	} {
		for _, end := range []string{"a step", "a signal", "a start"} {
			tx, err := w.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.Background()) }()
			if _, err := tx.(*transaction).pgx.Exec(t.Context(), body); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			switch end {
			case "a step":
				_, err = w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 0))
			case "a signal":
				_, err = w.DeliverIn(t.Context(), tx, &world.Delivery{Run: "r", ID: "d", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}})
			case "a start":
				_, err = w.CommitIn(t.Context(), tx, birthOf("born", "w"))
			}
			wantErr(t, err, world.ErrInvalid)
			if err == nil || !strings.Contains(err.Error(), "the body ended the step's transaction") {
				t.Errorf("%s, then %s: %v", body, end, err)
			}
			_ = tx.Rollback(t.Context())
			if n := countRows(t, w, "log") + countRows(t, w, "inbox"); n != before {
				t.Fatalf("%s, then %s: %d rows of logs and inboxes, want %d", body, end, n, before)
			}
		}
	}
	tx, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.(*transaction).pgx.Exec(t.Context(), "SAVEPOINT a; SELECT 1; ROLLBACK TO SAVEPOINT a; SAVEPOINT b; RELEASE SAVEPOINT a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 0)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBodySettings: what a body sets for its session is not there for the next one on its connection, however the transaction ended.
func TestBodySettings(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Conns: 1})
	body := func(text string) {
		t.Helper()
		tx, err := w.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		var timeout, path, mine, role string
		if err := tx.(*transaction).pgx.QueryRow(t.Context(), "SELECT current_setting('statement_timeout'), current_setting('search_path'), coalesce(current_setting('my.own', true), ''), current_setting('role')").
			Scan(&timeout, &path, &mine, &role); err != nil {
			t.Fatal(err)
		}
		if timeout != "0" || strings.Contains(path, "elsewhere") || mine != "" || role != "none" {
			t.Errorf("before %q: statement_timeout %s, search_path %s, my.own %q, role %s", text, timeout, path, mine, role)
		}
		if _, err := tx.(*transaction).pgx.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_ = tx.Commit(t.Context())
	}
	for _, text := range []string{
		"SET statement_timeout = '1min'", "SET search_path = elsewhere", "SET my.own = 'x'", "SET statement_timeout = '1min'; COMMIT", "SELECT 1",
	} {
		body(text)
	}
}
