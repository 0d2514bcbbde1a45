package postgres

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

// execute runs a script on a connection of its own.
func execute(t testing.TB, url, script string) {
	t.Helper()
	if err := tryExecute(t, url, script); err != nil {
		t.Fatal(err)
	}
}

func tryExecute(t testing.TB, url, script string) error {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}

// Rows of each table can be told apart, as a publication of all tables needs it, and the deletes and updates of each stay possible.
func TestEveryRowIsKnown(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w := openAt(t, u)
	execute(t, pgtest.Shared(t).AdminURL(u), "CREATE PUBLICATION everything FOR ALL TABLES")
	rows, err := w.pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'stepwell'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 40 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		if err := tryExecute(t, u, "DELETE FROM stepwell."+table+" WHERE false"); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// second is a step that no release has. It can be taken once, and takes long enough that others come to it meanwhile.
func second() Options {
	return Options{later: []Migration{{Version: 2, Name: "second", SQL: "ALTER TABLE stepwell.runs ADD COLUMN second text; SELECT pg_sleep(0.1);"}}}
}

// A database with a step less than the release has is refused or brought up to date, as asked for; one process does it.
func TestSecondStep(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	first := openAt(t, u)
	must(t, first, birthOf("r", "w"))

	next, strict := second(), second()
	strict.NoMigrate = true
	_, err := Open(t.Context(), u, strict)
	wantErr(t, err, world.ErrStorage)
	if !strings.Contains(err.Error(), "has version 1, this release needs 2") || !strings.Contains(err.Error(), "stepwell migrate") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
	left, err := Pending(t.Context(), u, next)
	if err != nil || len(left) != 1 || left[0].Version != 2 || left[0].Name != "second" {
		t.Fatalf("got %+v, %v; want the second step alone", left, err)
	}
	var wg sync.WaitGroup
	taken := make([][]Migration, 8)
	for i := range taken {
		wg.Go(func() {
			var err error
			if taken[i], err = Migrate(t.Context(), u, next); err != nil {
				t.Errorf("migration %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if all := slices.Concat(taken...); len(all) != 1 || all[0].Version != 2 {
		t.Errorf("%d steps were taken: %+v; want the second, once", len(all), all)
	}
	if left, err := Pending(t.Context(), u, next); err != nil || len(left) != 0 {
		t.Errorf("got %d steps left, %v; want none", len(left), err)
	}
	must(t, openAt(t, u, strict), birthOf("r2", "w"))
	must(t, first, birthOf("r3", "w")) // which is open, and does not know the step
	if page, err := openAt(t, u).Runs(t.Context(), world.RunQuery{}); err != nil || len(page.Runs) != 3 {
		t.Errorf("got %d runs, %v; want 3", len(page.Runs), err)
	}
}

// A step that fails leaves nothing behind: neither what it did, nor the steps before it.
func TestStepFails(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	o := Options{later: []Migration{{Version: 2, Name: "broken", SQL: "ALTER TABLE stepwell.runs ADD COLUMN second text; SELECT 1 / 0;"}}}
	if _, err := Migrate(t.Context(), u, o); err == nil || !strings.Contains(err.Error(), "migration 0002_broken") {
		t.Errorf("got error %v, want one that names the step", err)
	}
	_, err := Open(t.Context(), u, Options{NoMigrate: true})
	wantErr(t, err, world.ErrNotFound)
	must(t, openAt(t, u), birthOf("r", "w"))
}

// Many processes that open an empty database at once make one schema.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			w, err := Open(t.Context(), u)
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			if _, err := w.Commit(t.Context(), birthOf(fmt.Sprint("r", i), "w")); err != nil {
				t.Errorf("birth %d: %v", i, err)
			}
			if err := w.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	page, err := openAt(t, u).Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 8 {
		t.Errorf("got %d runs, %v; want 8", len(page.Runs), err)
	}
}

// A schema that is one version ahead has more columns and tables than this release knows, and harms it not; two are refused.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	all := Migrations("")
	if err := openAt(t, u).Close(); err != nil {
		t.Fatal(err)
	}
	more := func(version int) {
		execute(t, u, fmt.Sprintf("INSERT INTO stepwell.versions (version, name) VALUES (%d, 'later')", version))
	}
	more(len(all) + 1)
	for _, table := range []string{"runs", "queue", "log", "inbox", "tasks", "hooks", "awaits", "workers", "lanes", "totals", "classes", "chunks", "attributes"} {
		execute(t, u, fmt.Sprintf("ALTER TABLE stepwell.%s ADD COLUMN later text DEFAULT 'x'; CREATE TABLE stepwell.later_%[1]s (x int)", table))
	}
	w := openAt(t, u)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	must(t, w, stepCommit("r", wk.ID, 0))
	if run, err := w.Run(t.Context(), "r"); err != nil || run.Status != world.Running {
		t.Errorf("got %+v, %v", run, err)
	}
	more(len(all) + 2)
	_, err := Open(t.Context(), u)
	wantErr(t, err, world.ErrStorage)
	if !strings.Contains(err.Error(), "newer release") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
}

// What Pending prints can be run by hand; Open then finds nothing to do. In a schema of another name, for a role that may make none.
func TestMigrateByHand(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	o := Options{Schema: `own "name"`, NoMigrate: true, later: []Migration{{Version: 2, Name: "second", SQL: `ALTER TABLE "own ""name""".runs ADD COLUMN second text`}}}
	_, err := Open(t.Context(), u, o)
	wantErr(t, err, world.ErrNotFound)
	left, err := Pending(t.Context(), u, o)
	if err != nil || len(left) != 2 {
		t.Fatalf("got %d steps, %v; want 2", len(left), err)
	}
	for _, m := range left {
		execute(t, u, m.SQL)
		if err := tryExecute(t, u, m.SQL); err == nil {
			t.Errorf("step %d can be taken twice", m.Version)
		}
	}
	if left, err := Pending(t.Context(), u, o); err != nil || len(left) != 0 {
		t.Errorf("got %d steps left, %v; want none", len(left), err)
	}
	if claimed, err := Migrate(t.Context(), u, o); err != nil || len(claimed) != 0 {
		t.Errorf("took %d steps, %v; want none", len(claimed), err)
	}
	must(t, openAt(t, u, o), birthOf("r", "w"))

	admin := pgtest.Shared(t).AdminURL(u)
	role := "app_" + strings.ToLower(t.Name())
	execute(t, admin, fmt.Sprintf(`DROP ROLE IF EXISTS %s; CREATE ROLE %[1]s LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA "own ""name""" TO %[1]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "own ""name""" TO %[1]s;
		GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA "own ""name""" TO %[1]s`, role))
	t.Cleanup(func() { execute(t, admin, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", role)) })
	limited, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(role, "p")
	w := openAt(t, limited.String(), Options{Schema: o.Schema})
	wk := join(t, w, 0, class1)
	must(t, w, eager("r2", "w", wk.ID))
	if _, err := w.Sweep(t.Context(), 10); err != nil {
		t.Error(err)
	}
}

// Migrate by its URL: the schema is named there too, and the password is never shown.
func TestDriver(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t) + "&stepwell_schema=other"
	d, err := world.DriverOf(u)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Open(t.Context(), u, world.OpenOptions{Existing: true})
	wantErr(t, err, world.ErrNotFound)
	if !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("got error %v, want the schema's name", err)
	}
	claimed, err := d.(world.Migrator).Migrate(t.Context(), u)
	if err != nil || len(claimed) == 0 {
		t.Fatalf("took %d steps, %v", len(claimed), err)
	}
	w, err := world.Open(t.Context(), u, world.OpenOptions{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"postgres://u:secret@127.0.0.1:1/db", "postgres://u:secret@127.0.0.1:x/db?stepwell_schema=a", "postgres://u:secret@127.0.0.1:5432/db?sslmode=secret"} {
		if _, err := world.Open(t.Context(), bad); err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "sslmode=secret", ""), ":secret") {
			t.Errorf("%s: got error %v, want one without the password", bad, err)
		}
	}
}
