package ui_test

// Pages of runs of which something is damaged.

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// torn is a world whose chunks cannot be read.
type torn struct{ world.World }

func (torn) Chunks(_ context.Context, run, _ string, _ world.ChunkQuery) (world.ChunkPage, error) {
	return world.ChunkPage{}, &world.CorruptError{Run: run, Err: errors.New("a chunk was changed")}
}

// TestADamagedStreamLeavesItsRunsPage: the page of a run is there, with its buttons, and says what is damaged.
func TestADamagedStreamLeavesItsRunsPage(t *testing.T) {
	t.Parallel()
	says := stepwell.Define("says", func(ctx stepwell.Context, _ int) (int, error) {
		return 1, stepwell.WriteStream(ctx, "words", "hello")
	})
	s := newSiteOn(t, torn{memory.New()}, server.Options{}, says)
	run, err := says.Start(t.Context(), s.App, 0, stepwell.RunID("told"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := s.get("/ui/runs/told"); p.status != 200 || !strings.Contains(p.body, "a chunk was changed") || !strings.Contains(p.body, "/ui/runs/told/act/") {
		t.Errorf("got %d, want the page, its buttons and what is damaged:\n%s", p.status, p.body)
	}
}

// TestBadTotalsLeaveTheOverview: the first page is there, whatever the counts are.
func TestBadTotalsLeaveTheOverview(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"4611686018427387904", "9223372036854775807", "-7", "'x'"} {
		path := filepath.Join(t.TempDir(), "runs.db")
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s := newSiteOn(t, w, server.Options{})
		s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200, Items: []string{"lamp"}})
		s.Until("o-1", stepwell.WhyEvent)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO totals (workflow, status, n) VALUES ('order', 'blocked', 1), ('order', 'completed', 1) ON CONFLICT DO NOTHING; UPDATE totals SET n = " + n); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/ui/", "/ui/workflows", "/ui/runs?workflow=order&status=running", "/ui/workers"} {
			if p := s.get(path); p.status != 200 {
				t.Errorf("counts of %s: %s is %d", n, path, p.status)
			}
		}
	}
}
