package ui_test

// Pages of runs of which something is damaged.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
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
	run, err := says.Start(t.Context(), s.app, 0, stepwell.StartOptions{ID: "told"})
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
