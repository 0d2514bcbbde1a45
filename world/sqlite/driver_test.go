package sqlite

import (
	"database/sql/driver"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// A file is found by its URL, is not made by looking, and what Pending prints makes one by hand.
func TestDriver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	url := "sqlite:" + filepath.ToSlash(path)
	d, err := world.DriverOf(url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Open(t.Context(), url, world.OpenOptions{Existing: true})
	wantErr(t, err, world.ErrNotFound)
	left, err := d.(world.Migrator).Pending(t.Context(), url)
	if err != nil || len(left) != len(steps) {
		t.Fatalf("got %d steps, %v; want %d", len(left), err, len(steps))
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("the file is there, or %v", err)
	}
	c, err := connect(t.Context(), dsn(path, &Options{}), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range left {
		if _, err := c.raw.(driver.ExecerContext).ExecContext(t.Context(), m.SQL, nil); err != nil {
			t.Fatalf("step %d: %v", m.Version, err)
		}
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if claimed, err := d.(world.Migrator).Migrate(t.Context(), url); err != nil || len(claimed) != 0 {
		t.Errorf("took %d steps, %v; want none", len(claimed), err)
	}
	w, err := world.Open(t.Context(), url, world.OpenOptions{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	_, err = world.Open(t.Context(), "sqlite://host/runs.db")
	wantErr(t, err, world.ErrInvalid)
}

// Migrate makes a file that is not there.
func TestMigrateNewFile(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.ToSlash(filepath.Join(t.TempDir(), "runs.db"))
	m := driverOf(t, url)
	claimed, err := m.Migrate(t.Context(), url)
	if err != nil || len(claimed) == 0 || claimed[0].Name != "init" {
		t.Fatalf("took %+v, %v", claimed, err)
	}
	if left, err := m.Pending(t.Context(), url); err != nil || len(left) != 0 {
		t.Errorf("got %d steps left, %v; want none", len(left), err)
	}
}

func driverOf(t *testing.T, url string) world.Migrator {
	t.Helper()
	d, err := world.DriverOf(url)
	if err != nil {
		t.Fatal(err)
	}
	return d.(world.Migrator)
}
