package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

// Defaults of a database that change bytes, texts or rows change nothing here, with a pooler and without.
func TestSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	must(t, openAt(t, u), birthOf("first", "w"))
	for _, set := range []string{
		"client_encoding = 'LATIN1'", "DateStyle = 'German, DMY'", "IntervalStyle = 'sql_standard'", "bytea_output = 'escape'",
		"standard_conforming_strings = off", "array_nulls = off", "transform_null_equals = on", "TimeZone = 'America/St_Johns'", "extra_float_digits = -15",
	} {
		execute(t, u, fmt.Sprintf(`DO $do$ BEGIN EXECUTE format('ALTER DATABASE %%I SET %s', current_database()); END $do$`, strings.ReplaceAll(set, "'", "''")))
	}
	for i, at := range []string{u, pgtest.Pooler(t, pgtest.Shared(t)).URL(u)} {
		w := openAt(t, at)
		for name, want := range map[string]string{"client_encoding": "UTF8", "DateStyle": "ISO, MDY", "standard_conforming_strings": "on"} {
			var got string
			if err := w.pool.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %q, %v; want %q", w.place, name, got, err, want)
			}
		}
		c := birthOf(fmt.Sprint("r", i), "keyed")
		c.Events[0].Birth.Key = "Müller €"
		done, err := w.Commit(t.Context(), c)
		if i == 0 && (err != nil || done.Existing != "") || i == 1 && (err != nil || done.Existing != "r0") {
			t.Errorf("%s: got %+v, %v; want one run for one key", w.place, done, err)
		}
		page, err := w.Runs(t.Context(), world.RunQuery{Workflow: "keyed"})
		if err != nil || len(page.Runs) != 1 || page.Runs[0].Key != "Müller €" {
			t.Errorf("%s: got %+v, %v; want the run and its key", w.place, page.Runs, err)
		}
		class := world.Class{Workflow: "keyed", Version: 1}
		wk := join(t, w, 0, class)
		if i == 0 {
			if got := claim(t, w, wk, 5); len(got.Runs) != 1 {
				t.Errorf("%s: claimed %d runs, want 1", w.place, len(got.Runs))
			}
		}
		if _, err := w.Stats(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Statements are not compiled: not in a session of ours, and not in what a pooler gives.
func TestNothingIsCompiled(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	for _, at := range []string{u, pgtest.Pooler(t, pgtest.Shared(t)).URL(u)} {
		w := openAt(t, at)
		s := &statement{name: "show_jit", index: len(w.texts)}
		w.texts = append(w.texts, "SELECT current_setting('jit')")
		var read, changed string
		if err := w.read(t.Context(), s, func(row pgx.Rows) error { return row.Scan(&read) }); err != nil {
			t.Error(err)
		}
		if err := w.change(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			return w.in(tx).each(ctx, s, func(row scanner) error { return row.Scan(&changed) })
		}); err != nil {
			t.Error(err)
		}
		if read != "off" || changed != "off" {
			t.Errorf("pooled %v: jit is %q in a read and %q in a change, want off", w.pooled, read, changed)
		}
	}
}

// Where row security hides rows from a role, or a database cannot hold every text, Open says so, and what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	must(t, openAt(t, u), birthOf("r", "w"))
	admin := pgtest.Shared(t).AdminURL(u)
	role := "rows_" + strings.ToLower(t.Name())
	execute(t, admin, fmt.Sprintf(`DROP ROLE IF EXISTS %s; CREATE ROLE %[1]s LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA stepwell TO %[1]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA stepwell TO %[1]s; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA stepwell TO %[1]s`, role))
	t.Cleanup(func() { execute(t, admin, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", role)) })
	limited, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(role, "p")
	w, err := Open(t.Context(), limited.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	execute(t, u, "ALTER TABLE stepwell.versions ENABLE ROW LEVEL SECURITY; ALTER TABLE stepwell.runs ENABLE ROW LEVEL SECURITY")
	if _, err := w.Runs(t.Context(), world.RunQuery{}); err == nil { // it is open, and would list no run
		t.Error("rows were hidden without a word")
	}
	for _, o := range []Options{{}, {NoMigrate: true}} {
		_, err := Open(t.Context(), limited.String(), o)
		wantErr(t, err, world.ErrStorage)
		if !strings.Contains(err.Error(), "row security hides rows of runs, versions") || !strings.Contains(err.Error(), "BYPASSRLS") {
			t.Errorf("got error %v, want one that says what to do", err)
		}
	}
	must(t, openAt(t, u), birthOf("r2", "w")) // the owner sees all

	latin := "latin_" + strings.ToLower(t.Name())
	execute(t, admin, "DROP DATABASE IF EXISTS "+latin)
	execute(t, admin, "CREATE DATABASE "+latin+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	t.Cleanup(func() { execute(t, admin, "DROP DATABASE "+latin) })
	at, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/" + latin
	_, err = Open(t.Context(), at.String())
	wantErr(t, err, world.ErrStorage)
	if !strings.Contains(err.Error(), "LATIN1") || !strings.Contains(err.Error(), "ENCODING 'UTF8'") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
}
