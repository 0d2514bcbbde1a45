package stepwelltest

// This file replays histories of real runs against today's code.

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// Export writes the history of the run to a file, for [Replay]; stepwell export RUN does it for a run in production.
func (r *Run[Out]) Export(path string) {
	r.env.t.Helper()
	var b bytes.Buffer
	r.look(func(ctx context.Context, app *stepwell.App) error {
		return app.Export(ctx, r.ID(), &b, stepwell.Decrypted())
	})
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		r.env.t.Fatal(err)
	}
}

// Replay holds today's code to the histories in a file, which stepwell export or [Run.Export] has written: see [stepwell.App.Check].
// It fails the test for each run whose code would ask for something else than its log has, or come to another end, and for a file
// without a history. No body of a step runs.
func Replay(t testing.TB, path string, definitions ...stepwell.Definition) {
	t.Helper()
	ReplayWith(t, path, stepwell.Config{Definitions: definitions})
}

// ReplayWith is [Replay] with a Config of the test's: for limits.
func ReplayWith(t testing.TB, path string, cfg stepwell.Config) {
	t.Helper()
	cfg.Strict = true
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	app, err := stepwell.New(memory.New(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for h, err := range stepwell.ReadHistories(f) {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := app.Check(t.Context(), h); err != nil {
			t.Errorf("%s: run %s: %v", path, h.Run, err)
		}
		n++
	}
	if n == 0 {
		t.Fatalf("%s has no history", path)
	}
}
