package sqlite

import (
	"context"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// second is a step that a later release might add. It fails where it is taken twice.
var second = step{"owners", `
ALTER TABLE runs ADD COLUMN owner_name TEXT;
CREATE INDEX runs_owner_name ON runs (owner_name) WHERE owner_name IS NOT NULL;
UPDATE runs SET owner_name = 'of ' || id;`}

// A file gets the steps of a later release with all that is in it, and is then refused by the release before.
func TestSecondStep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path)
	must(t, w, birthOf("r1", "w"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, path)
	later := []step{steps[0], second}
	if err := migrate(c, later); err != nil {
		t.Fatal(err)
	}
	wantInFile(t, c, 2, "of r1")
	if err := migrate(c, later); err != nil {
		t.Errorf("nothing was left to do: %v", err)
	}
	err := migrate(c, steps)
	wantErr(t, err, world.ErrStorage)
	if !strings.Contains(err.Error(), "use a newer release") {
		t.Errorf("got %v, want what to do", err)
	}
	wantInFile(t, c, 2, "of r1")
}

// An empty file takes all steps.
func TestNewFileTakesAllSteps(t *testing.T) {
	t.Parallel()
	c := connectTo(t, filepath.Join(t.TempDir(), "runs.db"))
	if err := migrate(c, []step{steps[0], second}); err != nil {
		t.Fatal(err)
	}
	wantInFile(t, c, 2, "")
}

// A step that fails leaves the file as it was, and the steps before it are undone with it.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path)
	must(t, w, birthOf("r1", "w"))
	c := connectTo(t, path)
	err := migrate(c, []step{steps[0], second, {"broken", "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);"}})
	if err == nil || !strings.Contains(err.Error(), "step 3 of the schema, broken: ") {
		t.Errorf("got %v, want the step that failed", err)
	}
	if got := readInt(t, c, "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs_owner_name', 'half')"); got != 0 {
		t.Errorf("%d things of the steps are left", got)
	}
	if got := versionIn(t, c); got != 1 {
		t.Errorf("got version %d, want 1", got)
	}
}

// Of processes that open one file at once, one takes the steps, and the others find them taken.
func TestStepsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	var all []*conn
	for range 4 {
		all = append(all, connectTo(t, path))
	}
	for _, taken := range [][]step{steps, {steps[0], second}} {
		var wg sync.WaitGroup
		for _, c := range all {
			wg.Go(func() {
				if err := migrate(c, taken); err != nil {
					t.Errorf("%d steps: %v", len(taken), err)
				}
			})
		}
		wg.Wait()
		if got := versionIn(t, all[0]); got != int64(len(taken)) {
			t.Errorf("got version %d, want %d", got, len(taken))
		}
	}
}

func wantInFile(t *testing.T, c *conn, version int64, owner string) {
	t.Helper()
	if got := versionIn(t, c); got != version {
		t.Errorf("got version %d, want %d", got, version)
	}
	if got := readInt(t, c, "SELECT count(*) FROM runs WHERE owner_name = '"+owner+"'"); (got == 1) != (owner != "") {
		t.Errorf("%d runs have the column's value %q", got, owner)
	}
}

// connectTo connects to a file, new or old, as it is.
func connectTo(t *testing.T, path string) *conn {
	t.Helper()
	var o Options
	if err := o.defaults(); err != nil {
		t.Fatal(err)
	}
	c, err := connect(context.Background(), dsn(path, &o), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// readInt is the one number that a query answers.
func readInt(t *testing.T, c *conn, query string) int64 {
	t.Helper()
	rows, err := c.raw.(driver.QueryerContext).QueryContext(t.Context(), query, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	values := make(row, 1)
	if err := rows.Next(values); err != nil {
		t.Fatal(err)
	}
	return values.int(0)
}

func versionIn(t *testing.T, c *conn) int64 {
	t.Helper()
	return readInt(t, c, "PRAGMA user_version") & versionMask
}
